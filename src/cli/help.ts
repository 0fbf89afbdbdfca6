// How a page of help looks: wrapped at the width, long flags on lines of their own.

import type { CommandUnknownOpts as Command, HelpConfiguration } from '@commander-js/extra-typings';
import { wrapWords } from './wrap.js';

/** Where help is read. */
export interface HelpScreen {
  /** Columns of the terminal; undefined in a pipe. */
  width: number | undefined;
  hasColors: boolean;
}

/** The default width of a page, and the greatest: long lines are hard to read. */
const PIPE_WIDTH_COLUMNS = 80;
const WIDEST_COLUMNS = 100;
/** The columns of a flag; a longer one gets a line of its own. */
const TERM_COLUMNS = 20;
/** Narrower columns are not wrapped: a word a line is no help. */
const NARROWEST_TEXT_COLUMNS = 20;
const MARGIN = '  ';

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
    visibleOptions: (command) =>
      command.parent === null ? [] : command.options.filter(({ hidden }) => !hidden),
    // The first page names its commands alone; what they take is on their own pages.
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
  return aliases.length === 0
    ? ''
    : ` ${aliases.length === 1 ? 'Alias' : 'Aliases'}: ${aliases.join(', ')}.`;
}

/** Paragraphs as one line each, whatever width they were written at; lists, whose lines begin with a space, stay. */
function unfold(text: string): string {
  return text.replace(/([^\n])\n(?=[^\s])/g, '$1 ');
}

/** A term before what it means, or the mark of an item. */
const TERM = /^ +(?:- |\d+\. |\S+(?: \S+)* {2,})/;

/** Wraps a line. One that begins with a term or a bullet keeps its text in a column behind it. */
function wrapHelp(text: string, width: number): string[] {
  const term = TERM.exec(text)?.[0] ?? '';
  return wrapWords(
    text,
    width,
    ' '.repeat(width - term.length < NARROWEST_TEXT_COLUMNS ? 0 : term.length),
  );
}

/** Two columns: terms and their meanings. */
export function showPairs(pairs: readonly (readonly [term: string, meaning: string])[]): string {
  const width = Math.max(...pairs.map(([term]) => term.length));
  return pairs
    .map(([term, meaning]) => `${MARGIN}${term.padEnd(width)}${MARGIN}${meaning}`)
    .join('\n');
}

/** Fits text to a width: paragraphs, a line each, and items of lists are wrapped; lines to paste stay whole. */
export function fitHelp(text: string, width: number): string {
  const fit = (line: string) =>
    /^\S/.test(line) || TERM.test(line) ? wrapHelp(line, width) : line;
  return text.split('\n').flatMap(fit).join('\n');
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
