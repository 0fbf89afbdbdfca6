// Writes the manual: one `man` page for each help page and each guide.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { showExamples } from '../../cli/examples.js';
import { fitHelp, pathOf } from '../../cli/help.js';
import { TOPIC_NAMES, TOPICS } from '../../cli/topics.js';
import type { Context } from '../../context.js';
import { FleetError, reasonOf } from '../../errors.js';
import { makeFolder } from '../../system/folder.js';
import { programVersion } from '../../system/program-files.js';
import { topicText } from './show-topic.js';

/** The sections of the `man` pages: 1 for commands, and 7 for guides. */
const COMMANDS = 1;
const GUIDES = 7;

/**
 * The width of the pages, which fits the smallest common terminal. `man` does not wrap these lines.
 */
const WIDTH_COLUMNS = 78;

interface Page {
  name: string;
  section: number;
  summary: string;
  /** The content of the page, as `fleet help` prints it. */
  text: string;
  /** The related pages. They are listed on the page. */
  others: readonly (readonly [name: string, section: number])[];
}

/**
 * Writes the pages into a folder for `man`, such as `man1/fleet-bicycles-list.1` and
 * `man7/fleet-exit-codes.7`. Creates the folder.
 *
 * The pages have today's date, or the date in SOURCE_DATE_EPOCH for reproducible builds. Throws a
 * FleetError of kind `output`.
 */
export async function writeManual(
  { io, clock, notice }: Context,
  program: Command,
  folder: string,
): Promise<void> {
  const { SOURCE_DATE_EPOCH: epoch } = io.env;
  const date = new Date(epoch === undefined ? clock.wallMs() : Number(epoch) * 1000)
    .toISOString()
    .slice(0, 10);
  const guides = TOPIC_NAMES.map(async (topic): Promise<Page> => {
    const text = fitHelp(await topicText(topic, program), WIDTH_COLUMNS);
    return {
      name: `fleet-${topic}`,
      section: GUIDES,
      summary: TOPICS[topic],
      text,
      others: [['fleet', COMMANDS]],
    };
  });
  const pages = [...everyCommand(program).map(commandPage), ...(await Promise.all(guides))];
  try {
    for (const section of [COMMANDS, GUIDES]) await makeFolder(join(folder, `man${section}`));
    for (const page of pages)
      await writeFile(
        join(folder, `man${page.section}`, `${page.name}.${page.section}`),
        showPage(page, date),
      );
  } catch (error) {
    throw new FleetError('output', `the manual could not be written: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  await notice(`wrote ${pages.length} pages of the manual to ${folder}`);
}

function everyCommand(command: Command): Command[] {
  return [command, ...innerOf(command).flatMap(everyCommand)];
}

function innerOf(command: Command): Command[] {
  return command.createHelp().visibleCommands(command);
}

/** Returns a page's name, such as `fleet-bicycles-list`. */
function nameOf(command: Command): string {
  return pathOf(command).replaceAll(' ', '-');
}

function commandPage(command: Command): Page {
  const { parent } = command;
  const guides = (parent === null ? TOPIC_NAMES : ['flags']).map(
    (topic) => [`fleet-${topic}`, GUIDES] as const,
  );
  const commands = [...(parent === null ? [] : [parent]), ...innerOf(command)];
  return {
    name: nameOf(command),
    section: COMMANDS,
    summary: command.summary() || command.description(),
    text: `${stripVTControlCharacters(command.helpInformation())}\n${fitHelp(showExamples(command), WIDTH_COLUMNS)}`,
    others: [...commands.map((each) => [nameOf(each), COMMANDS] as const), ...guides],
  };
}

/**
 * Returns the page in roff. Each section has a heading. Its lines are printed as they are, without
 * reformatting.
 */
function showPage({ name, section, summary, text, others }: Page, date: string): string {
  const body = text.trim().split('\n').map(plain).join('\n');
  return [
    `.TH ${plain(name.toUpperCase())} ${section} "${date}" "fleet ${plain(programVersion())}" "Manual of fleet"`,
    `.SH NAME\n${plain(name)} \\- ${plain(summary)}`,
    `.SH DESCRIPTION\n.nf\n${body.replace(/\n\n(\S.{0,38}):\n+/g, '\n.fi\n.SS $1\n.nf\n')}\n.fi`,
    `.SH SEE ALSO\n${others.map(([other, number]) => `\\fB${plain(other)}\\fR(${number})`).join(',\n')}\n`,
  ].join('\n');
}

/**
 * The escapes for characters that are special in roff. These include quotes and dashes, because
 * roff would replace them with typographic characters.
 */
const MARKS: { readonly [mark: string]: string } = {
  '\\': '\\e',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '"': '\\(dq',
};

/**
 * Escapes text for roff. Writes non-ASCII characters as code points, because not every `man` reads
 * UTF-8.
 */
function plain(text: string): string {
  return text
    .replace(/[\\\-'`^~"]/g, (mark) => MARKS[mark] ?? mark)
    .replace(
      /[^\x00-\x7f]/gu,
      (letter) => `\\[u${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
    )
    .replace(/^\./, '\\&.');
}
