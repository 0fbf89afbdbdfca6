// Declares `fleet help`: the page of each command, and guides about several commands.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import {
  type CompletionPoint,
  collectWith,
  type Offers,
  offerCommand,
} from '../../cli/completions.js';
import { addVerb } from '../../cli/examples.js';
import { pathOf, showPairs } from '../../cli/help.js';
import { findBelow, namesBelow } from '../../cli/line.js';
import { unknownWord } from '../../cli/nearest.js';
import { meantCommand } from '../../cli/suggestion.js';
import { TOPIC_NAMES, TOPICS, topicOf } from '../../cli/topics.js';
import type { Run } from '../../context.js';
import { usageError } from '../../errors.js';

const TOPIC_LINES = showPairs(Object.entries(TOPICS));

export function addHelp(program: Command, run: Run): void {
  addVerb(
    program,
    [
      'help',
      'show help for a command or topic; "help topics" lists them',
      `Show help for a command or a topic:\n${TOPIC_LINES}`,
    ],
    ['help for a command, the same as --help', 'fleet help bicycles list'],
    ['list the topics', 'fleet help topics'],
    ['write the manual where man looks', 'fleet help --man-pages ~/.local/share/man'],
  )
    .argument(
      '[command|topic...]',
      'a command such as bicycles list, or a topic',
      collectWith(offerPages),
    )
    .option('--man-pages <folder>', 'write the manual into this folder, as pages for man')
    .action(
      run(
        async () =>
          async (context, words: string[] = [], { manPages }: { manPages?: string }) => {
            if (manPages !== undefined)
              return (await import('./manual.js')).writeManual(context, program, manPages);
            if (words.length === 1 && words[0]?.toLowerCase() === 'topics')
              return context.io.stdout.write(`${TOPIC_LINES}\n`);
            const topic = topicOf(words[0]);
            if (topic === undefined || words.length !== 1)
              return findCommand(program, words).outputHelp();
            return (await import('./show-topic.js')).showTopic(context, topic, program);
          },
      ),
    );
}

/**
 * Returns the command with this path. Throws a usage error that suggests the most similar command.
 */
function findCommand(program: Command, words: readonly string[]): Command {
  let command = program;
  for (const word of words) {
    const found = findBelow(command, word);
    if (found === undefined) {
      const names = namesBelow(command);
      if (names.length === 0)
        throw usageError(
          `${pathOf(command)} has no command "${word}"`,
          `see "${pathOf(command)} --help"`,
        );
      if (command !== program) throw unknownWord('command', word, names);
      const meant = meantCommand(program, word, ['topics', ...TOPIC_NAMES]);
      throw usageError(
        `no help for "${word}"`,
        `${meant === undefined ? '' : `did you mean "${meant}"? `}"fleet help" shows the commands; topics: ${TOPIC_NAMES.join(', ')}`,
      );
    }
    command = found;
  }
  return command;
}

/**
 * Offers the subcommands of the command that the user has typed so far. When the user has typed no
 * command, also offers the topics.
 */
function offerPages({ command: help, operands }: CompletionPoint): Offers {
  let at = help.parent ?? help;
  for (const operand of operands) at = findBelow(at, operand) ?? help;
  const pages = at.createHelp().visibleCommands(at).map(offerCommand);
  const topics = [
    // A topic with the same name as a command is not offered twice, because the command and the
    // topic share one page.
    ...TOPIC_NAMES.filter((name) => findBelow(at, name) === undefined).map((value) => ({
      value,
      description: TOPICS[value],
    })),
    { value: 'topics', description: 'the topics' },
  ];
  return { words: operands.length === 0 ? [...pages, ...topics] : pages };
}
