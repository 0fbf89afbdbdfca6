// What was probably meant by a command line that commander refused: the nearest command or flag, else where to look.

import type { CommandUnknownOpts as Command, CommanderError } from '@commander-js/extra-typings';
import { wholeUuid } from '../api/links.js';
import { quoteForShell } from '../shell-words.js';
import { guessLine, isAction } from './guesses.js';
import { pathOf } from './help.js';
import { flagsOf, followLine, namesBelow, readFlag } from './line.js';
import { nearest } from './nearest.js';

const TOKEN_FLAG = /^--(?:token|jwt|access-token|api-key)(?:=|$)/;
const TOKEN_HINT =
  'the token is never a flag, as other users could read it in the list of processes: use "fleet auth login", or set FLEET_TOKEN';

/** The whole line that was probably meant, for a hint; undefined where none is known or fleet has no such command. */
export function hintOfGuess(program: Command, argv: readonly string[]): string | undefined {
  if (argv.some((word) => TOKEN_FLAG.test(word))) return TOKEN_HINT;
  const { command: typed, operands: given } = followLine(program, argv);
  const guess = guessLine(argv, (word) => typed.commands.length === 0 && isKnownFlag(typed, word));
  if (guess === undefined) return undefined;
  const { command, operands } = followLine(program, guess);
  // `act rent retire` is complete: a bicycle called rent. The other way round it would be another action on another bicycle.
  const isComplete = typed.name() === 'act' && given.length > 1 && isAction(given.at(-1));
  if (isComplete && operands.join('\0') !== given.join('\0')) return undefined;
  const { registeredArguments: places } = command;
  const hasRoom = operands.length <= places.length || places.at(-1)?.variadic === true;
  // `get -o uuid d238` is not a list of all: words after the flags count, too.
  const isKnown = command.commands.length === 0 && hasRoom && guess.every((word) => isKnownFlag(command, word));
  return isKnown ? `did you mean: ${quoteLine(['fleet', ...guess])}` : undefined;
}

/** Words as a shell takes them. */
export function quoteLine(words: readonly string[]): string {
  return words.map((word) => quoteForShell(word)).join(' ');
}

function isKnownFlag(command: Command, word: string): boolean {
  return !word.startsWith('-') || word === '-' || word === '--help' || readFlag(command, word).option !== undefined;
}

/** The hint for a usage error of commander's. */
export function hintFor(error: CommanderError, program: Command, argv: readonly string[]): string {
  const guess = hintOfGuess(program, argv);
  if (guess !== undefined) return guess;
  const { command, operands } = followLine(program, argv);
  if (error.code === 'commander.excessArguments' && pathOf(command) === 'fleet bicycles get')
    return operands.some((operand) => wholeUuid(operand) !== undefined || operand.includes(' '))
      ? 'get shows one bicycle: run it once for each'
      : `did you mean: ${quoteLine(['fleet', 'bicycles', 'get', operands.join(' ')])}`;
  const word = /'([^']+)'/.exec(error.message)?.[1] ?? '';
  const meant =
    error.code === 'commander.unknownCommand'
      ? nearestCommand(command, word)
      : error.code === 'commander.unknownOption'
        ? nearestFlag(command, word)
        : undefined;
  return `${meant === undefined ? '' : `did you mean "${meant}"? `}see "${pathOf(command)} --help"`;
}

/** A verb without its noun gets the noun; any other word the nearest command. */
export function nearestCommand(command: Command, word: string, others: readonly string[] = []): string | undefined {
  const nouns = command.commands.filter((noun) => noun.commands.some((verb) => verb.name() === word));
  const [first] = nouns;
  return first === undefined ? nearest(word, [...namesBelow(command), ...others]) : `${first.name()} ${word}`;
}

function nearestFlag(command: Command, word: string): string | undefined {
  const [name = ''] = word.split('=', 1);
  const flags = ['--help', ...flagsOf(command).map(({ long, flags }) => long ?? flags)];
  // A short word has many neighbours, and what skips a question or goes further is nobody's slip.
  const most = name.length <= SHORT_FLAG_CHARACTERS ? 1 : undefined;
  return nearest(
    name,
    flags.filter((flag) => flag.startsWith('--') && !GRAVE_FLAGS.includes(flag)),
    most,
  );
}

/** `--note`. */
const SHORT_FLAG_CHARACTERS = 6;

/** Flags that are never suggested for another: they let more happen. */
const GRAVE_FLAGS: readonly string[] = ['--yes', '--allow-unknown', '--unknown', '--all', '--no-check', '--no-input'];
