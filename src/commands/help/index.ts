// The words of `fleet help`: the page of any command, and pages about what belongs to no single one.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { examples } from '../../cli/examples.js';
import { findBelow, namesBelow } from '../../cli/line.js';
import { unknownWord } from '../../cli/nearest.js';
import { nearestCommand } from '../../cli/suggestion.js';
import type { Run } from '../../context.js';
import { usageError } from '../../errors.js';
import { TOPIC_NAMES, TOPICS } from './names.js';

const WIDEST_TOPIC_COLUMNS = Math.max(...TOPIC_NAMES.map(({ length }) => length));
const TOPIC_LINES = TOPIC_NAMES.map((topic) => `  ${topic.padEnd(WIDEST_TOPIC_COLUMNS)}  ${TOPICS[topic]}`);

export function addHelp(program: Command, run: Run): void {
  const help = program
    .command('help')
    .summary(`page of a command or a topic: ${TOPIC_NAMES.join(', ')}`)
    .description(`Show the page of a command, or one of these:\n${TOPIC_LINES.join('\n')}`)
    .argument('[words...]', 'a command such as bicycles list, or a topic')
    .action((words: string[], _options: object, command: Command) => {
      const topic = TOPIC_NAMES.find((known) => known === words[0]?.toLowerCase());
      if (topic === undefined || words.length !== 1) return findCommand(program, words).outputHelp();
      return run(command, async (context) => (await import('./topics.js')).showTopic(context, topic, program));
    });
  examples(
    help,
    ['the page of a command, as --help shows it', 'fleet help bicycles list'],
    ['the exit codes', 'fleet help exit-codes'],
  );
}

/** The command that the words name. Throws a usage error that names the nearest. */
function findCommand(program: Command, words: readonly string[]): Command {
  let command = program;
  for (const word of words) {
    const found = findBelow(command, word);
    if (found === undefined) {
      if (command !== program) throw unknownWord('command', word, namesBelow(command));
      const meant = nearestCommand(program, word, TOPIC_NAMES);
      throw usageError(
        `there is no page about "${word}"`,
        `${meant === undefined ? '' : `did you mean "${meant}"? `}"fleet help" shows the commands; topics: ${TOPIC_NAMES.join(', ')}`,
      );
    }
    command = found;
  }
  return command;
}
