// Parses a command line without running it: finds the command, its flags and its operands.

import type { CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';

export interface FollowedLine {
  /** The innermost command of the line. */
  command: Command;
  /** The number of words up to and including the name of the command. */
  commandEnd: number;
  /** The operands of the command, without flags and their values. */
  operands: string[];
  /** The values of each flag by its long name. A flag without a value has an empty list. */
  values: ReadonlyMap<string, readonly string[]>;
  /** The flag whose value is the next word. */
  awaiting: Option | undefined;
  /** Whether `--` was found. The words after it are not flags. */
  isLiteral: boolean;
}

const NEGATIVE_NUMBER = /^-(?:\d+|\d*\.\d+)(?:e[+-]?\d+)?$/;

/** Returns the flags of a command, followed by the flags of its parents. */
export function flagsOf(command: Command): Option[] {
  const own = command.options.filter(({ hidden }) => !hidden);
  return command.parent === null ? [...own] : [...own, ...flagsOf(command.parent)];
}

/** Returns the names of the visible subcommands. */
export function namesBelow(command: Command): string[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .flatMap((inner) => [inner.name(), ...inner.aliases()]);
}

/** Returns the subcommand with this name or alias. */
export function findBelow(command: Command, name: string): Command | undefined {
  return command.commands.find((inner) => inner.name() === name || inner.aliases().includes(name));
}

/** Parses the words after `fleet`. Unknown words become operands or are ignored. Never throws. */
export function followLine(program: Command, words: readonly string[]): FollowedLine {
  const operands: string[] = [];
  const values = new Map<string, string[]>();
  let command = program;
  let commandEnd = 0;
  let awaiting: Option | undefined;
  let isLiteral = false;
  const give = ({ long, flags }: Option, value: string) => {
    const name = long ?? flags;
    values.set(name, [...(values.get(name) ?? []), value]);
  };
  for (const [index, word] of words.entries()) {
    if (awaiting !== undefined) {
      give(awaiting, word);
      awaiting = undefined;
    } else if (isLiteral || word === '-' || !word.startsWith('-')) {
      const inner = operands.length === 0 && !isLiteral ? findBelow(command, word) : undefined;
      if (inner === undefined) {
        operands.push(word);
        continue;
      }
      command = inner;
      commandEnd = index + 1;
    } else if (word === '--') {
      isLiteral = true;
    } else {
      const { option, value } = readFlag(command, word);
      if (option === undefined) {
        // Commander treats a negative number as an operand and not as a flag.
        if (NEGATIVE_NUMBER.test(word)) operands.push(word);
        continue;
      }
      if (!takesValue(option)) {
        values.set(option.long ?? option.flags, []);
        continue;
      }
      if (value === undefined) awaiting = option;
      else give(option, value);
    }
  }
  return { command, commandEnd, operands, values, awaiting, isLiteral };
}

/** Splits a word such as `--output`, `--output=json`, `-o` or `-ojson` into its flag and value. */
export function readFlag(
  command: Command,
  word: string,
): { option: Option | undefined; value: string | undefined } {
  const flags = flagsOf(command);
  if (word.startsWith('--')) {
    const equals = word.indexOf('=');
    const name = equals === -1 ? word : word.slice(0, equals);
    const option = flags.find(({ long }) => long === name);
    return { option, value: equals === -1 ? undefined : word.slice(equals + 1) };
  }
  return {
    option: flags.find(({ short }) => short === word.slice(0, 2)),
    value: word.slice(2) || undefined,
  };
}

export function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}
