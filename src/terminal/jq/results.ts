// Formats the results of jq. This file does not load jq.

import type { FleetError } from '../../errors.js';

/** The result of one item. */
export interface JqResult {
  /**
   * One line per result with its newline. Strings are raw. With an error: the results before it.
   */
  text: string;
  /** jq's message as a usage error. Its hint shows the beginning of the item. */
  error: FleetError | undefined;
}

/**
 * Runs the program for JSON texts. The program sees one text per run, and `input` finds no more.
 * Half a second after the abort of the signal jq is stopped, and the run rejects with the reason.
 */
export type JqRun = (items: readonly string[], signal?: AbortSignal) => Promise<JqResult[]>;

/** A compiled jq program. */
export interface Jq {
  /**
   * Returns a result per item, in order. Overlapping runs end in the order in which they began. A
   * failing item does not affect others. One call with many items is faster than many calls,
   * because jq starts once per batch (about a millisecond). Rejects only with the signal's reason.
   */
  readonly run: JqRun;
  /**
   * The same for the items of an array, so that the array need not be in memory; undefined when the
   * program needs the whole array. A program that starts with `.[] |` needs one item at a time.
   */
  readonly runItems: JqRun | undefined;
  /** Stops jq. A run in progress then never settles. */
  close(): Promise<void>;
}

/**
 * Writes the results in order, then throws the first error. Results before the failing item are
 * printed, later ones are not.
 */
export async function writeResults(
  results: readonly JqResult[],
  write: (text: string) => Promise<void>,
): Promise<void> {
  const failed = results.findIndex(({ error }) => error !== undefined);
  const shown = failed === -1 ? results : results.slice(0, failed + 1);
  await write(shown.map(({ text }) => text).join(''));
  if (failed !== -1) throw results[failed]?.error;
}
