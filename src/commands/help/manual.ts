// Writes the manual: a page for `man` for each command and each topic of help, from the words of the program itself.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { type Example, examplesOf } from '../../cli/examples.js';
import { pathOf } from '../../cli/help.js';
import type { Context } from '../../context.js';
import { FleetError, messageOf } from '../../errors.js';
import { makeFolder } from '../../folder.js';
import { programVersion } from '../../place.js';
import { TOPIC_NAMES, TOPICS, type Topic } from './names.js';
import { type Section, sectionsOf } from './topics.js';

/** The sections of the manual: commands, and what belongs to no single one. */
const COMMANDS = 1;
const TOPICS_SECTION = 7;

/**
 * Writes the pages where man looks below a folder, which is made: `man1/fleet-bicycles-list.1`, `man7/fleet-exit-codes.7`. They bear
 * today's date, or that of SOURCE_DATE_EPOCH, as reproducible builds want it. Throws a FleetError of kind `output`.
 */
export async function writeManual({ io, clock, notice }: Context, program: Command, folder: string): Promise<void> {
  const { SOURCE_DATE_EPOCH: epoch } = io.env;
  const date = new Date(epoch === undefined ? clock.wallMs() : Number(epoch) * 1000).toISOString().slice(0, 10);
  const pages = [
    ...everyCommand(program).map((command) => ({
      path: `man${COMMANDS}/${pageOf(command)}.${COMMANDS}`,
      text: commandPage(command, program),
    })),
    ...TOPIC_NAMES.map((topic) => ({
      path: `man${TOPICS_SECTION}/fleet-${topic}.${TOPICS_SECTION}`,
      text: topicPage(topic, program),
    })),
  ];
  try {
    for (const number of [COMMANDS, TOPICS_SECTION]) await makeFolder(join(folder, `man${number}`));
    for (const { path, text } of pages) await writeFile(join(folder, path), datePage(text, date));
  } catch (error) {
    const reason = messageOf(error);
    throw new FleetError('output', `the manual could not be written: ${reason}`, { cause: error });
  }
  await notice(`wrote ${pages.length} pages of the manual to ${folder}`);
}

/** Puts the date where the title has none. */
function datePage(page: string, date: string): string {
  return page.replace(' "" ', ` "${date}" `);
}

function everyCommand(command: Command): Command[] {
  return [command, ...innerOf(command).flatMap(everyCommand)];
}

function innerOf(command: Command): Command[] {
  return command.createHelp().visibleCommands(command);
}

/** `fleet-bicycles-list` */
function pageOf(command: Command): string {
  return pathOf(command).replaceAll(' ', '-');
}

function commandPage(command: Command, program: Command): string {
  const help = command.createHelp();
  const isRoot = command === program;
  const options = (isRoot ? command.options : help.visibleOptions(command)).filter(({ hidden }) => !hidden);
  const usage = help.commandUsage(command).slice(pathOf(command).length).trim();
  return page(pageOf(command), COMMANDS, command.summary() || asSummary(command.description()), [
    section('Synopsis', [`${bold(pathOf(command))} ${plain(usage)}`]),
    section('Description', prose(help.commandDescription(command))),
    section(
      'Commands',
      innerOf(command).map((inner) =>
        term(bold(inner.name()), `${filled(`${inner.summary()};`)}\nsee ${reference(pageOf(inner))}`),
      ),
    ),
    section(
      'Arguments',
      help
        .visibleArguments(command)
        .map((argument) => term(bold(argument.name()), filled(help.argumentDescription(argument)))),
    ),
    section(
      'Flags',
      options.map((option) => term(bold(option.flags), filled(help.optionDescription(option)))),
    ),
    section('Examples', examplesOf(command).flatMap(example)),
    isRoot ? section('Exit status', sections(sectionsOf('exit-codes', program))) : '',
    isRoot ? section('Environment', sections(sectionsOf('environment', program))) : '',
    section('See also', [seeAlso(command, program)]),
  ]);
}

function topicPage(topic: Topic, program: Command): string {
  return page(`fleet-${topic}`, TOPICS_SECTION, TOPICS[topic], [
    section('Description', sections(sectionsOf(topic, program))),
    section(
      'Examples',
      sectionsOf(topic, program).flatMap(({ examples = [] }) => examples.flatMap(example)),
    ),
    section('See also', [reference('fleet')]),
  ]);
}

/** A sentence as the summaries are written. */
function asSummary(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '');
}

/** The first page names the topics; the others the page above theirs, and where the flags of every command are explained. */
function seeAlso(command: Command, program: Command): string {
  if (command === program) return TOPIC_NAMES.map((topic) => reference(`fleet-${topic}`, TOPICS_SECTION)).join(',\n');
  return [reference(pageOf(command.parent ?? program)), reference('fleet-flags', TOPICS_SECTION)].join(',\n');
}

function page(name: string, number: number, summary: string, parts: readonly string[]): string {
  const title = `.TH ${plain(name.toUpperCase())} ${number} "" "fleet ${plain(programVersion())}" "Manual of fleet"`;
  return [title, section('Name', [`${plain(name)} \\- ${plain(summary)}`]), ...parts]
    .filter((part) => part !== '')
    .join('\n')
    .concat('\n');
}

/** A heading begins a paragraph by itself. */
function section(heading: string, parts: readonly string[]): string {
  const rest = parts[0] === '.PP' ? parts.slice(1) : parts;
  return parts.length === 0 ? '' : [`.SH ${heading.toUpperCase()}`, ...rest].join('\n');
}

/** What a topic says, but for its examples. */
function sections(all: readonly Section[]): string[] {
  return all.flatMap(({ heading, text, pairs = [] }) => [
    ...(heading === undefined || heading === 'Examples:' ? [] : ['.PP', bold(heading)]),
    ...(text === undefined ? [] : ['.PP', filled(text)]),
    ...pairs.map(([word, meaning]) => term(bold(word), filled(meaning))),
  ]);
}

/** Paragraphs; lines that begin with a space are a list, and stay as they are. */
function prose(text: string): string[] {
  const parts = text.match(/(?:^\S.*\n?)+|(?:^ .*\n?)+/gm) ?? [];
  return parts.flatMap((part) => {
    const lines = part.trimEnd().split('\n');
    return part.startsWith(' ')
      ? verbatim(lines.map((line) => line.replace(/^ {2}/, '')))
      : ['.PP', filled(lines.join(' '))];
  });
}

function example([purpose, line]: Example): string[] {
  return ['.PP', filled(`${purpose.charAt(0).toUpperCase()}${purpose.slice(1)}:`), ...verbatim([line])];
}

function verbatim(lines: readonly string[]): string[] {
  return ['.PP', '.RS 4', '.nf', ...lines.map((line) => plain(line)), '.fi', '.RE'];
}

/** Both are roff already. */
function term(name: string, meaning: string): string {
  return `.TP\n${name}\n${meaning}`;
}

function reference(name: string, number = COMMANDS): string {
  return `${bold(name)}(${number})`;
}

function bold(text: string): string {
  return `\\fB${plain(text)}\\fR`;
}

/** What roff would take for something else: its own marks, and quotes and dashes that it would make typographic. */
const MARKS: { readonly [mark: string]: string } = {
  '\\': '\\e',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '"': '\\(dq',
};

/** The longest line of text that lint accepts. */
const LONGEST_LINE_CHARACTERS = 80;

/** Text that is filled, in lines of the length that roff's own pages have. */
function filled(text: string): string {
  const lines: string[] = [];
  for (const word of plain(text).split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > LONGEST_LINE_CHARACTERS) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  // A line that begins with a point would be a request.
  return lines.map((line) => line.replace(/^\./, '\\&.')).join('\n');
}

/** Text as roff shows it unchanged; beyond ASCII by code point, for not every `man` reads UTF-8. */
function plain(text: string): string {
  return text
    .replace(/[\\\-'`^~"]/g, (mark) => MARKS[mark] ?? mark)
    .replace(/[^\x00-\x7f]/gu, (letter) => `\\[u${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`)
    .replace(/^\./gm, '\\&.');
}
