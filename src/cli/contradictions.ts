// Refuses combinations of global flags before a command runs.

import { usageError } from '../errors.js';

/** `--jq` filters JSON: another format, asked for by flag, contradicts it, and so do columns. */
export function checkGlobalFlags(flags: { jq?: string; output?: string; columns?: string[]; headers?: boolean }): void {
  const { jq, output, columns, headers } = flags;
  if (jq === undefined) return;
  if (output !== undefined && output !== 'json' && output !== 'jsonl') {
    throw usageError(
      `--jq filters JSON and cannot make ${output}`,
      'leave -o out, or give -o jsonl to filter item by item',
    );
  }
  if (headers === false) throw usageError('--jq makes JSON, which has no headers', 'leave --no-headers out');
  if (columns !== undefined) {
    throw usageError(
      '--jq and --columns cannot be used together',
      "choose the fields in the program: '.[] | {name, state}'",
    );
  }
}

/** Commands that report while they run, and have no result that a file could hold. */
const WITHOUT_RESULT = ['sandbox', 'demo', 'gbfs', 'run'];

export function checkFile(file: string | undefined, command: string): void {
  if (file === undefined || !WITHOUT_RESULT.includes(command)) return;
  throw usageError(`${command} has no result that --file could hold`, 'use > FILE for what it prints');
}
