// The examples on a command's page of help: what each is for and the line to type; the tests run every one.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';

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
