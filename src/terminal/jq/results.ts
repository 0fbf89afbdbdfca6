// What jq makes of JSON texts, and how it is written; loads no jq.

import type { FleetError } from '../../errors.js';

/** What the program made of one item. */
export interface JqResult {
  /** A line for each result, newline included; strings come out raw. With an error: what came before it. */
  text: string;
  /** jq's own message as a usage error whose hint holds the beginning of the item. */
  error: FleetError | undefined;
}

/**
 * Runs the program over JSON texts, each one valid JSON value and the only input that the program sees: `input` finds no more. Half a second
 * after the signal's abort jq is stopped, and the run rejects with its reason.
 */
export type JqRun = (items: readonly string[], signal?: AbortSignal) => Promise<JqResult[]>;

/** A jq program that has been found good, ready to be fed. */
export interface Jq {
  /**
   * A result for each item, in their order; runs that overlap end in the order in which they began. An item that fails takes no other
   * item with it. Many items in one call are quicker than many calls: jq starts once for a batch (about a millisecond). Rejects with
   * the reason of the signal alone.
   */
  readonly run: JqRun;
  /**
   * The same for the items of an array, one by one, so that nobody need hold all of it; undefined where the program must see the
   * whole array. A program that begins with `.[] |` needs no more than one item at a time.
   */
  readonly runItems: JqRun | undefined;
  /** Stops jq; a run in progress never ends then. */
  close(): Promise<void>;
}

/**
 * Writes the results in their order, then throws the first error: what came before the failing item is printed, what comes behind it is not.
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
