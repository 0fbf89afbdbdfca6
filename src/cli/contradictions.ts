// Refuses combinations of global flags before a command runs.

import { usageError } from '../errors.js';

/**
 * Commands that print until the user stops them. They refuse `--file`, because their output is
 * never complete.
 */
const WITHOUT_RESULT = ['fleet sandbox', 'fleet demo', 'fleet gbfs', 'fleet mirror run'];

type Flags = {
  jq?: string;
  output?: string;
  columns?: string[];
  headers?: boolean;
  headings?: boolean;
  file?: string;
};

/** `--jq` filters JSON, so it cannot be combined with another --output format or with --columns. */
export function checkGlobalFlags(
  { jq, output, columns, headers, headings, file }: Flags,
  command: string,
): void {
  const isOther = output !== undefined && output !== 'json' && output !== 'jsonl';
  const others = [
    isOther && `-o ${output}`,
    columns !== undefined && '--columns',
    headings === true && '--headings',
    headers === false && '--no-headers',
  ];
  const other = others.find((flag) => flag !== false);
  if (jq !== undefined && other !== undefined)
    throw usageError(
      `--jq filters JSON and cannot be used with ${other}`,
      "choose fields in the program: '.[] | {name, state}'; -o jsonl filters item by item",
    );
  if (file !== undefined && WITHOUT_RESULT.includes(command))
    throw usageError(
      `${command} does not support --file`,
      'to save the output, redirect it: > FILE',
    );
}
