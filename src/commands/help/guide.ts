// Converts a guide of docs/ into the form of a help page: each paragraph on one line, headings as
// `Heading:`, and lists indented by two spaces.

import { showPairs } from '../../cli/help.js';

/**
 * Converts the Markdown of a guide: headings, paragraphs, lists, tables with two columns and code
 * blocks. The title and pictures are left out.
 */
export function guideText(markdown: string): string {
  const blocks = markdown
    .split(/^(```\w*\n[\s\S]*?^```$)/m)
    .flatMap((part) =>
      part.startsWith('```') ? [codeText(part)] : part.split(/\n{2,}/).map(blockText),
    );
  return (
    blocks
      .filter((block) => block !== '')
      .join('\n\n')
      // There is no empty line between a heading and its list.
      .replace(/^(\S.*:)\n\n(?= )/gm, '$1\n')
  );
}

function blockText(block: string): string {
  const text = block.trim();
  if (/^(?:# |!\[)/.test(text)) return '';
  const [heading, title = ''] = /^#{2,3} (.*)$/.exec(text) ?? [];
  if (heading !== undefined) return `${inlineText(title)}:`;
  if (text.startsWith('|')) return showPairs(text.split('\n').slice(2).map(readRow));
  const isList = /^(?:- |1\. )/.test(text);
  const whole = joinLines(text);
  return isList
    ? whole.replace(/^/gm, '  ').split('\n').map(inlineText).join('\n')
    : inlineText(whole);
}

/** Joins the lines of each paragraph and of each list item. Terminals wrap them to their width. */
function joinLines(text: string): string {
  return text.replace(/\n *(?! *(?:- |\d+\. ))/g, ' ');
}

function readRow(line: string): [term: string, meaning: string] {
  const [, term = '', meaning = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
  return [term.replaceAll('`', ''), inlineText(meaning)];
}

/**
 * Removes Markdown from text. Commands get quotes, and a link becomes the command that shows the
 * guide.
 */
function inlineText(text: string): string {
  return text
    .replace(/\[([^\]]+)\]\(([^)]+?)(\.md)?\)/g, (_all, words, target, isGuide) =>
      isGuide === undefined ? words : `${words} ("fleet help ${target}")`,
    )
    .replace(/`([^`]+)`/g, (_all, code) => (/^(?:fleet|npm) /.test(code) ? `"${code}"` : code))
    .replaceAll('**', '');
}

/** Indents code by two spaces. The comment behind a shell line moves above it. */
function codeText(block: string): string {
  const [fence = '', ...lines] = block.split('\n').slice(0, -1);
  const isShell = fence === '```sh';
  return lines
    .map((line) => `  ${isShell ? line.replace(/^(.*\S) +# (.*)$/, '# $2\n  $1') : line}`)
    .join('\n');
}
