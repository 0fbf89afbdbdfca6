// Writes the manual: each page of help, of a command or a topic, as a page for `man`.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { showExamples } from '../../cli/examples.js';
import { HEADING, pathOf, wrapHelp } from '../../cli/help.js';
import type { Context } from '../../context.js';
import { FleetError, reasonOf } from '../../errors.js';
import { makeFolder } from '../../folder.js';
import { programVersion } from '../../program-files.js';
import { TOPIC_NAMES, TOPICS, type Topic } from './names.js';
import { topicText } from './topics.js';

/** The sections of the manual: commands, and guides. */
const COMMANDS = 1;
const TOPICS_SECTION = 7;

interface Page {
  name: string;
  section: number;
  summary: string;
  /** Lines of roff. */
  body: readonly string[];
}

/**
 * Writes the pages where man looks below a folder, which is made: `man1/fleet-bicycles-list.1`, `man7/fleet-exit-codes.7`. They bear
 * today's date, or that of SOURCE_DATE_EPOCH, as reproducible builds want it. Throws a FleetError of kind `output`.
 */
export async function writeManual({ io, clock, notice }: Context, program: Command, folder: string): Promise<void> {
  const { SOURCE_DATE_EPOCH: epoch } = io.env;
  const date = new Date(epoch === undefined ? clock.wallMs() : Number(epoch) * 1000).toISOString().slice(0, 10);
  const pages = [
    ...(await Promise.all(everyCommand(program).map((command) => commandPage(command, program)))),
    ...(await Promise.all(TOPIC_NAMES.map((topic) => topicPage(topic, program)))),
  ];
  try {
    for (const section of [COMMANDS, TOPICS_SECTION]) await makeFolder(join(folder, `man${section}`));
    for (const page of pages)
      await writeFile(join(folder, `man${page.section}`, `${page.name}.${page.section}`), showPage(page, date));
  } catch (error) {
    const reason = reasonOf(error);
    throw new FleetError('output', `the manual could not be written: ${reason}`, { cause: error });
  }
  await notice(`wrote ${pages.length} pages of the manual to ${folder}`);
}

function everyCommand(command: Command): Command[] {
  return [command, ...innerOf(command).flatMap(everyCommand)];
}

function innerOf(command: Command): Command[] {
  return command.createHelp().visibleCommands(command);
}

/** `fleet-bicycles-list` */
function nameOf(command: Command): string {
  return pathOf(command).replaceAll(' ', '-');
}

/** The page of a command; that of fleet itself has flags, exit codes and settings too. */
async function commandPage(command: Command, program: Command): Promise<Page> {
  const [usage = '', ...text] = stripVTControlCharacters(command.helpInformation()).split('\n');
  const isRoot = command === program;
  const everywhere = async ([title, topic]: readonly [string, Topic]) => [
    `.SH ${title}`,
    ...toRoff((await topicText(topic, program)).split('\nExamples:', 1).join('')),
  ];
  return {
    name: nameOf(command),
    section: COMMANDS,
    summary: command.summary() || asSummary(command.description()),
    body: [
      '.SH SYNOPSIS',
      usage.replace(/^Usage: (.*?)(?= [<[]|$)(.*)/, (_all, path, rest) => bold(path) + plain(rest)),
      '.SH DESCRIPTION',
      ...toRoff(text.join('\n')),
      ...toRoff(showExamples(command)),
      ...(isRoot ? (await Promise.all(ROOT_SECTIONS.map(everywhere))).flat() : []),
      '.SH SEE ALSO',
      [
        ...(command.parent === null ? [] : [reference(nameOf(command.parent))]),
        ...innerOf(command).map((inner) => reference(nameOf(inner))),
        ...(isRoot ? TOPIC_NAMES : (['flags'] as const)).map((topic) => reference(`fleet-${topic}`, TOPICS_SECTION)),
      ].join(',\n'),
    ],
  };
}

const ROOT_SECTIONS = [
  ['FLAGS', 'flags'],
  ['EXIT STATUS', 'exit-codes'],
  ['ENVIRONMENT', 'settings'],
] as const;

async function topicPage(topic: Topic, program: Command): Promise<Page> {
  const body = ['.SH DESCRIPTION', ...toRoff(await topicText(topic, program)), '.SH SEE ALSO', reference('fleet')];
  return { name: `fleet-${topic}`, section: TOPICS_SECTION, summary: TOPICS[topic], body };
}

/** A description in the style of a summary. */
function asSummary(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '');
}

function showPage({ name, section, summary, body }: Page, date: string): string {
  const title = `.TH ${plain(name.toUpperCase())} ${section} "${date}" "fleet ${plain(programVersion())}" "Manual of fleet"`;
  const lines = [title, '.SH NAME', `${plain(name)} \\- ${plain(summary)}`, ...body];
  // A heading begins a paragraph by itself, and lines to paste stay together.
  return `${lines.join('\n')}\n`.replace(/^(\.SH .*)\n\.PP$/gm, '$1').replaceAll('\n.fi\n.RE\n.PP\n.RS 4\n.nf\n', '\n');
}

/** Headings of help that become sections of the manual; other headings stay within the text. */
const SECTIONS: readonly string[] = ['Arguments:', 'Commands:', 'Flags:', 'Examples:'];

/**
 * A page of help as roff. Its parts stand apart by empty lines: paragraphs, and lists with a heading or a sentence above them. An item of
 * a list, two spaces in, is a term before what it means, which may go on in lines further in; what an example is for; or a line to paste.
 */
function toRoff(text: string): string[] {
  return text.split(/\n\n+/).flatMap((part) => {
    const [prose = '', ...items] = part.trimEnd().split(/(?:^|\n) {2}(?! )/);
    const heading = prose.trim();
    const above = SECTIONS.includes(heading) ? `.SH ${heading.slice(0, -1).toUpperCase()}` : paragraph(heading);
    return [...(heading === '' ? [] : [above]), ...items.map(itemToRoff)];
  });
}

function paragraph(text: string): string {
  return `.PP\n${HEADING.test(text) ? bold(text) : filled(text)}`;
}

function itemToRoff(item: string): string {
  if (item.startsWith('# ')) return paragraph(`${item.charAt(2).toUpperCase()}${item.slice(3)}`).concat(':');
  const [, bullet, text = ''] = /^(-|\d+\.) ([\s\S]*)$/.exec(item) ?? [];
  if (bullet !== undefined) return ['.TP 4', bullet === '-' ? '\\(bu' : bullet, filled(text)].join('\n');
  const [, term, meaning = ''] = /^(\S+(?: \S+)*)\s{2,}([\s\S]*)$/.exec(item) ?? [];
  return term === undefined
    ? ['.PP', '.RS 4', '.nf', plain(item), '.fi', '.RE'].join('\n')
    : ['.TP', bold(term), filled(meaning)].join('\n');
}

function reference(name: string, section = COMMANDS): string {
  return `${bold(name)}(${section})`;
}

function bold(text: string): string {
  return `\\fB${plain(text)}\\fR`;
}

/** Escapes for roff's own marks, and for quotes and dashes that it would make typographic. */
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

/** Text for roff to fill, in short lines. */
function filled(text: string): string {
  // A line that begins with a point would be a request.
  return wrapHelp(plain(text), LONGEST_LINE_CHARACTERS)
    .map((line) => line.replace(/^\./, '\\&.'))
    .join('\n');
}

/** Text as roff shows it unchanged; beyond ASCII by code point, for not every `man` reads UTF-8. */
function plain(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/[\\\-'`^~"]/g, (mark) => MARKS[mark] ?? mark)
    .replace(/[^\x00-\x7f]/gu, (letter) => `\\[u${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`)
    .replace(/^\./gm, '\\&.');
}
