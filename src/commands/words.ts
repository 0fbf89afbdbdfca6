// What the nouns' index files share: how a command runs, how examples are shown, how a word is checked at the door.

import type { Command } from 'commander';
import type { Context } from '../context.js';
import { usageError } from '../errors.js';
import { unknownWord } from '../terminal/nearest.js';

/** Runs the deed of a command with a context made from its flags; handed down by program.ts. */
export type Run = (command: Command, deed: (context: Context) => Promise<void>) => Promise<void>;

/** A parser for commander: accepts one of the words, refuses others with the nearest right one. */
export function oneOf(kind: string, words: readonly string[]): (word: string) => string {
  return (word) => {
    if (words.includes(word)) return word;
    throw unknownWord(kind, word, words);
  };
}

/** A parser for commander: a whole number from `minimum` on. */
export function wholeNumber(flag: string, minimum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= minimum) return value;
    throw usageError(`${flag} takes a whole number from ${minimum} on, not "${text}"`);
  };
}

/** A parser for commander that collects a repeatable flag. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

/** What a command line is for, and the line itself. */
export type Example = readonly [purpose: string, line: string];

const EXAMPLES = new WeakMap<Command, readonly Example[]>();

/** The examples that a command was given. */
export function examplesOf(command: Command): readonly Example[] {
  return EXAMPLES.get(command) ?? [];
}

/** Adds the examples to a command's help. */
export function examples(command: Command, ...pairs: readonly Example[]): Command {
  EXAMPLES.set(command, pairs);
  const lines = pairs.map(([purpose, line]) => `  # ${purpose}\n  ${line}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}
