// Converts a guide from docs/ into a help page: each paragraph is one line, a heading becomes
// `Heading:`, and lists are indented by two spaces.

import { showPairs } from '../../cli/help.js';

/**
 * Converts the Markdown of a guide. Supports headings, paragraphs, lists, code blocks and tables
 * with two columns. Omits the title and pictures.
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
      // Removes the empty line between a heading and its list.
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
 * Removes the Markdown markup from text. Puts quotes around commands. After the text of a link to
 * a guide, adds the command that shows this guide.
 */
function inlineText(text: string): string {
  return text
    .replace(/\[([^\]]+)\]\(([^)]+?)(\.md)?\)/g, (_all, words, target, isGuide) =>
      isGuide === undefined ? words : `${words} ("fleet help ${target}")`,
    )
    .replace(/`([^`]+)`/g, (_all, code) => (/^(?:fleet|npm) /.test(code) ? `"${code}"` : code))
    .replaceAll('**', '');
}

/** Indents code by two spaces. Moves the comment at the end of a shell line to a line above it. */
function codeText(block: string): string {
  const [fence = '', ...lines] = block.split('\n').slice(0, -1);
  const isShell = fence === '```sh';
  return lines
    .map((line) => `  ${isShell ? line.replace(/^(.*\S) +# (.*)$/, '# $2\n  $1') : line}`)
    .join('\n');
}
