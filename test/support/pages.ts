// Returns the help pages and their examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { pathOf } from '../../src/cli/help.js';
import { TOPIC_NAMES } from '../../src/cli/topics.js';
import { buildProgram } from '../../src/program.js';
import { runFleet } from './run.js';

export interface Page {
  /** `fleet bicycles list`, or `fleet help output`. */
  name: string;
  text: string;
}

/** The whole command line. The tests do not run it. */
export const PROGRAM: Command = await buildProgram(() => async () => {}, { write() {} });

/** Every command that help shows, the root first. */
export function everyCommand(command: Command = PROGRAM): Command[] {
  return [
    command,
    ...command
      .createHelp()
      .visibleCommands(command)
      .flatMap((inner) => everyCommand(inner)),
  ];
}

/** Returns every help page at a width, or as in a pipe without a width. */
export async function everyPage(columns?: number): Promise<Page[]> {
  const options = columns === undefined ? {} : { terminal: { columns } };
  const names = [
    ...everyCommand().map((command) => `${pathOf(command)} --help`),
    ...TOPIC_NAMES.map((topic) => `fleet help ${topic}`),
  ];
  const pages: Page[] = [];
  for (const name of names)
    pages.push({ name, text: (await runFleet(name.split(' ').slice(1), options)).stdout });
  return pages;
}

/** Returns the command lines below `Examples:` without their descriptions. */
export function examplesOf({ text }: Page): string[] {
  const [, block = ''] = /^Examples:\n((?: {2}.*\n?)+)/m.exec(text) ?? [];
  return block
    .split('\n')
    .map((line) => line.slice(2))
    .filter((line) => line !== '' && !line.startsWith('#'));
}
