// The examples on a command's page of help: what each is for and the line to type; the tests run every one.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';

/** The purpose of a command line, and the line itself. */
type Example = readonly [purpose: string, line: string];

const EXAMPLES = new WeakMap<Command, readonly Example[]>();

/** The examples that a command was given, as its page of help ends with them. */
export function showExamples(command: Command): string {
  const lines = (EXAMPLES.get(command) ?? []).map(([purpose, line]) => `  # ${purpose}\n  ${line}`);
  return lines.length === 0 ? '' : `Examples:\n${lines.join('\n')}`;
}

/** What a verb is called, what it does in a line, and its page of help. */
type Words = readonly [name: string, summary: string, description: string];

/** Declares a verb of a noun, or a noun, with its examples. */
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
