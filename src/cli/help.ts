// How a page of help looks: wrapped at the width, long flags on lines of their own, the flags of every command kept short.

import type { CommandUnknownOpts as Command, HelpConfiguration, Option } from '@commander-js/extra-typings';

/** Where help is read. */
export interface HelpScreen {
  /** Columns of the terminal; undefined in a pipe. */
  width: number | undefined;
  hasColors: boolean;
}

/** The default width of a page, and the greatest: long lines are hard to read. */
const PIPE_WIDTH_COLUMNS = 80;
const WIDEST_COLUMNS = 100;
/** A flag longer than this gets a line of its own, or it would push every description to the right edge. */
const LONGEST_TERM_COLUMNS = 24;
/** Narrower columns are not wrapped: a word a line is no help. */
const NARROWEST_TEXT_COLUMNS = 20;
const MARGIN = '  ';
/** The prefix of an example's purpose. */
const COMMENT = '  # ';

const BOLD = ['\u001b[1m', '\u001b[22m'] as const;

/** The columns that a page of help is wrapped at. */
export function helpWidth({ width }: HelpScreen): number {
  return Math.min(width ?? PIPE_WIDTH_COLUMNS, WIDEST_COLUMNS);
}

/** What differs from commander's own layout. */
export function helpConfiguration(): HelpConfiguration {
  return {
    boxWrap: (text, width) =>
      text
        .split('\n')
        .flatMap((line) => wrapHelp(line, width))
        .join('\n'),
    commandDescription: (command) => unfold(command.description()) + otherNames(command),
    commandUsage: (command) => `${pathOf(command)} ${usageOf(command)}`,
    // The flags of every command follow at the end of the page, and --help with them.
    visibleOptions: (command) => (command.parent === null ? [] : command.options.filter(({ hidden }) => !hidden)),
    // The first page names its commands alone; what they take is on their own pages.
    subcommandTerm: (command) =>
      [command.name(), ...(command.parent?.parent ? command.registeredArguments.map(argumentTerm) : [])].join(' '),
    argumentTerm: (argument) => argument.name(),
    styleTitle: (title) => embolden(title === 'Options:' ? 'Flags:' : title),
    padWidth(command, helper) {
      const terms = [
        ...helper.visibleOptions(command).map((option) => helper.optionTerm(option)),
        ...helper.visibleArguments(command).map((argument) => helper.argumentTerm(argument)),
        ...helper.visibleCommands(command).map((inner) => helper.subcommandTerm(inner)),
      ].filter(({ length }) => length <= LONGEST_TERM_COLUMNS);
      return Math.max(0, ...terms.map(({ length }) => length));
    },
    formatItem(term, termWidth, description, helper) {
      const indent = `\n${MARGIN}${' '.repeat(termWidth)}${MARGIN}`;
      const width = (helper.helpWidth ?? PIPE_WIDTH_COLUMNS) - indent.length + 1;
      // Commander quotes a text that is a default; numbers have no quotes either.
      const unquoted = description.replace(/\(default: "([^"]*)"\)$/, '(default: $1)');
      const text = helper.boxWrap(unquoted, width).replaceAll('\n', indent);
      if (text === '') return MARGIN + term;
      return term.length > termWidth
        ? `${MARGIN}${term}${indent}${text}`
        : `${MARGIN}${term.padEnd(termWidth)}${MARGIN}${text}`;
    },
  };
}

/** A line that is a heading, not the end of a paragraph. */
export const HEADING = /^\S.{0,38}:$/;

/** A heading. Commander takes the escape sequences out again where there is no colour. */
export function embolden(heading: string): string {
  return BOLD.join(heading);
}

/** `fleet bicycles list`, as it is typed. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function argumentTerm(argument: Command['registeredArguments'][number]): string {
  const shown = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${shown}>` : `[${shown}]`;
}

/** What follows the command's name: its arguments or commands, then flags. */
function usageOf(command: Command): string {
  if (command.parent === null || command.commands.length > 0) return '<command> [flags]';
  // Commander's default usage begins with its options.
  const own = command.usage();
  if (!own.startsWith('[options]')) return `${own} [flags]`;
  return [...command.registeredArguments.map(argumentTerm), '[flags]'].join(' ');
}

function otherNames(command: Command): string {
  const aliases = command.aliases();
  return aliases.length === 0 ? '' : ` ${aliases.length === 1 ? 'Alias' : 'Aliases'}: ${aliases.join(', ')}.`;
}

/** Paragraphs as one line each, whatever width they were written at; lists, whose lines begin with a space, stay. */
function unfold(text: string): string {
  return text.replace(/([^\n])\n(?=[^\s])/g, '$1 ');
}

/** A term before what it means, or the mark of an item. */
const TERM = /^ +(?:- |\d+\. |\S+(?: \S+)* {2,})/;

/** Wraps a line. One that begins with a term or a bullet keeps its text in a column behind it. */
export function wrapHelp(text: string, width: number): string[] {
  const term = TERM.exec(text)?.[0] ?? '';
  const indent = ' '.repeat(width - term.length < NARROWEST_TEXT_COLUMNS ? 0 : term.length);
  const lines: string[] = [];
  let line = '';
  for (const word of text.match(/\s*\S+/g) ?? []) {
    if (line.trim() !== '' && line.length + word.length > width) {
      lines.push(line);
      line = indent + word.trimStart();
    } else {
      line += word;
    }
  }
  return [...lines, line];
}

/** Two columns: terms and their meanings. */
export function showPairs(pairs: readonly (readonly [term: string, meaning: string])[]): string {
  const width = Math.max(...pairs.map(([term]) => term.length));
  return pairs.map(([term, meaning]) => `${MARGIN}${term.padEnd(width)}${MARGIN}${meaning}`).join('\n');
}

/**
 * Fits text to a width: paragraphs, lists and the purposes of examples are wrapped again where a
 * line of theirs is too long; lines to paste stay whole.
 */
export function fitHelp(text: string, width: number): string {
  const isTooLong = (line: string) => line.length > width;
  const lines: string[] = [];
  let paragraph: string[] = [];
  const endParagraph = () => {
    lines.push(...(paragraph.some(isTooLong) ? wrapHelp(paragraph.join(' '), width) : paragraph));
    paragraph = [];
  };
  for (const line of text.split('\n')) {
    if (/^[^\s\u001b]/.test(line)) paragraph.push(line);
    else {
      endParagraph();
      if (line.startsWith(COMMENT) && isTooLong(line))
        lines.push(...wrapHelp(line.slice(COMMENT.length), width - COMMENT.length).map((part) => COMMENT + part));
      else lines.push(...(isTooLong(line) && TERM.test(line) ? wrapHelp(line, width) : [line]));
    }
  }
  endParagraph();
  return lines.join('\n');
}

/** The flags of every command on a few lines, as they are typed, with their defaults. */
export function everyCommandsFlags(program: Command, command: Command, screen: HelpScreen): string {
  if (command === program) return '';
  const flags = program.options.filter(({ hidden }) => !hidden).map(withDefault);
  const heading = 'Flags of every command ("fleet help flags" explains them):';
  return `\n${embolden(heading)}\n${flow([...flags, '-h, --help'], helpWidth(screen))}`;
}

/** The first page, which fits on a terminal of 24 rows: the commands in their groups, and how to begin. */
export function helpFirstPage(program: Command, groups: readonly (readonly string[])[]): string {
  const lines = groups.map((names) =>
    names.map((name) => {
      const summary = program.commands.find((command) => command.name() === name)?.summary() ?? '';
      return `${MARGIN}${name.padEnd(FIRST_PAGE_TERM_COLUMNS)}${summary}`;
    }),
  );
  const usage = embolden('Usage: fleet <command> [flags]');
  const begin = `${MARGIN}flags of every command: fleet help flags`;
  return [[usage], ...lines, [begin]].map((group) => `${group.join('\n')}\n`).join('\n');
}

const FIRST_PAGE_TERM_COLUMNS = 15;

/** `--timeout <seconds> (30)`: the default as the description tells it, when it is one word. */
function withDefault({ flags, description }: Option): string {
  const value = /\(default: (\S+)\)$/.exec(description)?.[1];
  return value === undefined ? flags : `${flags} (${value})`;
}

/** Items side by side, two spaces between, on as many lines as they need. */
function flow(items: readonly string[], width: number): string {
  const lines: string[] = [];
  let line = '';
  for (const item of items) {
    const longer = line === '' ? MARGIN + item : `${line}${MARGIN}${item}`;
    if (line !== '' && longer.length > width) {
      lines.push(line);
      line = MARGIN + item;
    } else {
      line = longer;
    }
  }
  return [...lines, line].join('\n');
}
