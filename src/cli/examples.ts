// The examples of a command's help page. Each has a purpose and a command line. The tests run every
// example.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';

/** The purpose of an example, and its command line. */
type Example = readonly [purpose: string, line: string];

const EXAMPLES = new WeakMap<Command, readonly Example[]>();

/** Returns the examples of a command. */
export function examplesOf(command: Command): readonly Example[] {
  return EXAMPLES.get(command) ?? [];
}

/** Returns the examples at the end of a command's help page. */
export function showExamples(command: Command): string {
  const lines = examplesOf(command).map(([purpose, line]) => `  # ${purpose}\n  ${line}`);
  return lines.length === 0 ? '' : `Examples:\n${lines.join('\n')}`;
}

/** The name of a command, its one-line summary and its description. */
type Words = readonly [name: string, summary: string, description: string];

/**
 * Declares a subcommand with its examples. In `fleet bicycles list`, the noun is `bicycles` and the
 * verb is `list`.
 */
export function addVerb(
  noun: Command,
  [name, summary, description]: Words,
  ...pairs: readonly Example[]
) {
  const verb = noun.command(name);
  EXAMPLES.set(verb, pairs);
  return verb
    .summary(summary)
    .description(description)
    .addHelpText('after', `\n${showExamples(verb)}`);
}
