// Formats the results of jq. jq itself is not loaded by this file.

import type { FleetError } from '../../errors.js';

/** The result of one item. */
export interface JqResult {
  /**
   * The results, one per line. Strings are printed without quotes. When there is an error, the text
   * contains the results before the error.
   */
  text: string;
  /** jq's error message as a usage error. The hint of the error shows the beginning of the item. */
  error: FleetError | undefined;
}

/**
 * Runs the program on JSON values. Each run of the program gets a single value, so jq's `input`
 * finds no further value. When the signal is aborted, jq is stopped half a second later, and `run`
 * rejects with the signal's reason.
 */
export type JqRun = (items: readonly string[], signal?: AbortSignal) => Promise<JqResult[]>;

/** A compiled jq program. */
export interface Jq {
  /**
   * Returns a result for each item, in order. Overlapping runs end in the order in which they
   * began. An item that fails does not affect the other items. One call with many items is faster
   * than many calls, because jq is started once for each batch of items. A start takes about a
   * millisecond. Rejects only with the signal's reason.
   */
  readonly run: JqRun;
  /**
   * Works like `run` on the items of an array, but does not keep the whole array in memory. A
   * program that begins with `.[] |` needs only one item at a time. This function is undefined when
   * the program needs the whole array.
   */
  readonly runItems: JqRun | undefined;
  /** Stops jq. The promise of a run in progress is then never settled. */
  close(): Promise<void>;
}

/**
 * Writes the results in order, then throws the first error. Results before the item that failed are
 * printed, and later results are not.
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
