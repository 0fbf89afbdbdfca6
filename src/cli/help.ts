// The layout of help pages: wrapped at the terminal's width, with long flags on separate lines.

import type { CommandUnknownOpts as Command, HelpConfiguration } from '@commander-js/extra-typings';
import { wrapWords } from './wrap.js';

/** The properties of the terminal or pipe to which help is printed. */
export interface HelpScreen {
  /** Columns of the terminal; undefined in a pipe. */
  width: number | undefined;
  hasColors: boolean;
}

/** The default and maximum width of a page. Longer lines are hard to read. */
const PIPE_WIDTH_COLUMNS = 80;
const WIDEST_COLUMNS = 100;
/** The width of the flag column. A longer flag gets a separate line. */
const TERM_COLUMNS = 20;
/** Narrower columns are not wrapped, because text with one word per line is hard to read. */
const NARROWEST_TEXT_COLUMNS = 20;
const MARGIN = '  ';

const BOLD = ['\u001b[1m', '\u001b[22m'] as const;

/** Returns the width at which a help page is wrapped. */
export function helpWidth({ width }: HelpScreen): number {
  return Math.min(width ?? PIPE_WIDTH_COLUMNS, WIDEST_COLUMNS);
}

/** Returns the settings that change the layout of commander's help. */
export function helpConfiguration(): HelpConfiguration {
  return {
    boxWrap: (text, width) =>
      text
        .split('\n')
        .flatMap((line) => wrapHelp(line, width))
        .join('\n'),
    commandDescription: (command) => unfold(command.description()) + otherNames(command),
    commandUsage: (command) => `${pathOf(command)} ${usageOf(command)}`,
    // Flags that every command has, such as --help, are not listed on each page. The last line of
    // each page names the guide that describes these flags.
    visibleOptions: (command) =>
      command.parent === null ? [] : command.options.filter(({ hidden }) => !hidden),
    // The first page shows only the names of commands. The page of each command shows its
    // arguments.
    subcommandTerm: (command) =>
      [
        command.name(),
        ...(command.parent?.parent ? command.registeredArguments.map(argumentTerm) : []),
      ].join(' '),
    argumentTerm: (argument) => argument.name(),
    styleTitle: (title) => embolden(title === 'Options:' ? 'Flags:' : title),
    padWidth: () => TERM_COLUMNS,
    formatItem(term, termWidth, description, helper) {
      const indent = `\n${MARGIN}${' '.repeat(termWidth)}${MARGIN}`;
      const width = (helper.helpWidth ?? PIPE_WIDTH_COLUMNS) - indent.length + 1;
      // Commander puts quotes around a default value that is a string. fleet shows it without
      // quotes, like a number.
      const unquoted = description.replace(/\(default: "([^"]*)"\)$/, '(default: $1)');
      const text = helper.boxWrap(unquoted, width).replaceAll('\n', indent);
      if (text === '') return MARGIN + term;
      return term.length > termWidth
        ? `${MARGIN}${term}${indent}${text}`
        : `${MARGIN}${term.padEnd(termWidth)}${MARGIN}${text}`;
    },
  };
}

/**
 * Matches a heading: a line of at most 40 characters that begins at the margin and ends with a
 * colon.
 */
export const HEADING = /^\S.{0,38}:$/;

/** Formats a heading. Commander removes the escape sequences when colours are off. */
export function embolden(heading: string): string {
  return BOLD.join(heading);
}

/** Returns the full name of a command: `fleet bicycles list`. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function argumentTerm(argument: Command['registeredArguments'][number]): string {
  const shown = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${shown}>` : `[${shown}]`;
}

/** Returns the usage after the command's name: arguments or commands, then flags. */
function usageOf(command: Command): string {
  if (command.parent === null || command.commands.length > 0) return '<command> [flags]';
  // Commander's default usage starts with the options.
  const own = command.usage();
  if (!own.startsWith('[options]')) return `${own} [flags]`;
  return [...command.registeredArguments.map(argumentTerm), '[flags]'].join(' ');
}

function otherNames(command: Command): string {
  const aliases = command.aliases();
  return aliases.length === 0
    ? ''
    : ` ${aliases.length === 1 ? 'Alias' : 'Aliases'}: ${aliases.join(', ')}.`;
}

/**
 * Joins each paragraph into one line. Lines that begin with a space, such as lists, are unchanged.
 */
function unfold(text: string): string {
  return text.replace(/([^\n])\n(?=[^\s])/g, '$1 ');
}

/** Matches the beginning of a line: a term before its meaning, or a bullet. */
const TERM = /^ +(?:- |\d+\. |\S+(?: \S+)* {2,})/;

/**
 * Wraps a line. After a term or a bullet, the continuation lines are indented to the column in
 * which the text starts.
 */
function wrapHelp(text: string, width: number): string[] {
  const term = TERM.exec(text)?.[0] ?? '';
  return wrapWords(
    text,
    width,
    ' '.repeat(width - term.length < NARROWEST_TEXT_COLUMNS ? 0 : term.length),
  );
}

/** Formats two columns: terms and their meanings. */
export function showPairs(pairs: readonly (readonly [term: string, meaning: string])[]): string {
  const width = Math.max(...pairs.map(([term]) => term.length));
  return pairs
    .map(([term, meaning]) => `${MARGIN}${term.padEnd(width)}${MARGIN}${meaning}`)
    .join('\n');
}

/**
 * Wraps paragraphs and list items to a width. Command lines stay on one line, so that they can be
 * pasted.
 */
export function fitHelp(text: string, width: number): string {
  const fit = (line: string) =>
    /^\S/.test(line) || TERM.test(line) ? wrapHelp(line, width) : line;
  return text.split('\n').flatMap(fit).join('\n');
}

/** Returns the first help page, which fits on 24 rows: the commands by group, and how to start. */
export function helpFirstPage(program: Command, groups: readonly (readonly string[])[]): string {
  const lines = groups.map((names) =>
    names.map((name) => {
      const summary = program.commands.find((command) => command.name() === name)?.summary() ?? '';
      return `${MARGIN}${name.padEnd(FIRST_PAGE_TERM_COLUMNS)}${summary}`;
    }),
  );
  const opening = [
    'See and change a fleet of rental bicycles. A change is sent at most once.',
    embolden('Usage: fleet <command> [flags]'),
  ];
  const closing = [
    `${MARGIN}flags of every command: fleet help flags`,
    `${MARGIN}example: fleet bicycles list --state lost`,
  ];
  return [opening, ...lines, closing].map((group) => `${group.join('\n')}\n`).join('\n');
}

const FIRST_PAGE_TERM_COLUMNS = 15;
