// What was probably meant by a command line that commander refused: the nearest command or flag, else where to look.

import type { CommandUnknownOpts as Command, CommanderError } from '@commander-js/extra-typings';
import { guessLine, quoteLine, tokenHint } from './guesses.js';
import { pathOf } from './help.js';
import { flagsOf, followLine, namesBelow, readFlag } from './line.js';
import { nearest } from './nearest.js';

/** The whole line that was probably meant, for a hint; undefined where none is known or fleet has no such command. */
export function hintOfGuess(program: Command, argv: readonly string[]): string | undefined {
  const token = tokenHint(argv);
  if (token !== undefined) return token;
  const guess = guessLine(argv);
  if (guess === undefined) return undefined;
  const { command } = followLine(program, guess);
  const isKnown = command.commands.length === 0 && guess.every((word) => isKnownFlag(command, word));
  return isKnown ? `did you mean: ${quoteLine(['fleet', ...guess])}` : undefined;
}

function isKnownFlag(command: Command, word: string): boolean {
  return !word.startsWith('-') || word === '-' || word === '--help' || readFlag(command, word).option !== undefined;
}

/** The hint for a usage error of commander's. */
export function hintFor(error: CommanderError, program: Command, argv: readonly string[]): string {
  const guess = hintOfGuess(program, argv);
  if (guess !== undefined) return guess;
  const { command } = followLine(program, argv);
  const word = /'([^']+)'/.exec(error.message)?.[1] ?? '';
  const meant =
    error.code === 'commander.unknownCommand'
      ? nearestCommand(command, word)
      : error.code === 'commander.unknownOption'
        ? nearestFlag(command, word)
        : undefined;
  return `${meant === undefined ? '' : `did you mean "${meant}"? `}see "${pathOf(command)} --help"`;
}

/** A verb that was said without its noun means the noun's; anything else the nearest word: a command at this place, or another. */
export function nearestCommand(command: Command, word: string, others: readonly string[] = []): string | undefined {
  const nouns = command.commands.filter((noun) => noun.commands.some((verb) => verb.name() === word));
  const [first] = nouns;
  return first === undefined ? nearest(word, [...namesBelow(command), ...others]) : `${first.name()} ${word}`;
}

function nearestFlag(command: Command, word: string): string | undefined {
  const [name = ''] = word.split('=', 1);
  return nearest(
    name,
    ['--help', ...flagsOf(command).map(({ long, flags }) => long ?? flags)].filter((flag) => flag.startsWith('--')),
  );
}
