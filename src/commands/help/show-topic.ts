// Prints the guides of docs/ for `fleet help`. The guide files are installed with the program.

import { readFile } from 'node:fs/promises';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { embolden, fitHelp, HEADING, helpWidth, showPairs } from '../../cli/help.js';
import type { Topic } from '../../cli/topics.js';
import type { Context } from '../../context.js';
import { distPath } from '../../system/program-files.js';
import { guideText } from './guide.js';

export async function showTopic(
  { io, notice }: Context,
  topic: Topic,
  program: Command,
): Promise<void> {
  const screen = { width: io.stdout.width(), hasColors: io.stdout.colorLevel > 0 };
  const page = await topicText(topic, program);
  const text = screen.hasColors ? page.replace(new RegExp(HEADING, 'gm'), embolden) : page;
  await io.startPager(notice);
  await io.stdout.write(`${fitHelp(text, helpWidth(screen))}\n`);
}

/**
 * Returns a guide in the format of a `--help` page before line wrapping: each paragraph on one
 * line, and lists directly below a heading.
 */
export async function topicText(topic: Topic, program: Command): Promise<string> {
  return topic === 'flags'
    ? describeFlags(program)
    : guideText(await readFile(distPath(`${topic}.md`), 'utf8'));
}

function describeFlags(program: Command): string {
  return `Every command takes these flags, before or after its name. The token is never a flag: it would show in the process list and the shell history.

Flags of every command:
${showPairs(program.options.map(({ flags, description }) => [flags, description]))}

Examples:
  # flags may come first
  fleet --json bicycles list --limit 3 --retries 0
  # show requests and responses
  fleet alerts list --trace --verbose`;
}
