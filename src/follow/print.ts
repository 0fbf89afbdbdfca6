// Prints messages as lines, as JSON lines or through jq. Reports and skips a message that cannot be
// shown.

import type { Context } from '../context.js';
import { asFleetError, usageError } from '../errors.js';
import { escapeJson } from '../terminal/clean.js';
import { loadPaint } from '../terminal/colour.js';
import { changeLine, type ShownEntry } from '../views/watch.js';
import type { Form, Stderr } from './stderr.js';

/**
 * Returns whether a command prints lines or JSON lines. A different format in the settings is
 * ignored, because it is meant for lists. A different format in a flag throws a usage error.
 */
export async function chooseLines(
  { settings, flags }: Context,
  verb: string,
): Promise<'lines' | 'json'> {
  const { output } = await settings();
  const isJson = output.value === 'json' || output.value === 'jsonl';
  if (flags.file !== undefined)
    throw usageError(`${verb} writes lines continuously and does not support --file`, 'use > FILE');
  if (output.origin === 'flag' && !isJson && output.value !== 'table')
    throw usageError(`${verb} writes lines, or JSON lines with --json, not ${output.value}`);
  if (flags.columns !== undefined)
    throw usageError(`${verb} writes lines and does not support --columns`);
  return isJson || flags.jq !== undefined ? 'json' : 'lines';
}

/** A message to print, or a change that was found in the list. */
export interface Printable {
  readonly entry: ShownEntry;
  /**
   * The time of the event by the service's clock, or the arrival time when the service sent no
   * time.
   */
  readonly atMs: number;
  /** The arrival time by the system clock. */
  readonly receivedMs: number;
  /** The original JSON text of the message or alert, or undefined when there is none. */
  readonly data: string | undefined;
}

/** Prints items in order. Reports the number of written items to `onDelivered`. */
export type Print = (
  items: readonly Printable[],
  onDelivered: (count: number) => void,
) => Promise<void>;

/**
 * The number of items that are written together. If the reader stops in the middle of such a group,
 * the reported number of undelivered items is wrong by at most this number.
 */
const TOGETHER = 100;

/**
 * Opens the printer. The printer reports items that cannot be shown or filtered on stderr. The
 * signal stops the `--jq` program.
 */
export async function openPrinter(
  context: Context,
  form: Form,
  stderr: Stderr,
  signal: AbortSignal,
): Promise<Print> {
  const { stdout } = context.io;
  const isJson = form === 'json';
  const textsOf = isJson
    ? await openJson(context, stderr, signal)
    : await openLines(context, stderr);
  return async (items, onDelivered) => {
    // A message without JSON text is skipped. The reason was already reported on stderr.
    const printed = isJson ? items.filter(({ data }) => data !== undefined) : items;
    onDelivered(items.length - printed.length);
    const texts = await textsOf(printed);
    for (let at = 0; at < texts.length; at += TOGETHER) {
      const chunk = texts.slice(at, at + TOGETHER);
      await stdout.write(chunk.join(''));
      onDelivered(chunk.length);
    }
  };
}

async function openLines({ io: { stdout }, flags }: Context, { zone, unshown }: Stderr) {
  const paint = await loadPaint(stdout.colorLevel);
  const lineOf = ({ entry, atMs, receivedMs, data }: Printable) => {
    try {
      const place = {
        width: stdout.width(),
        terminal: stdout.isTerminal,
        zone,
        paint,
        receivedMs: flags.wide === true ? receivedMs : undefined,
      };
      return `${changeLine(entry, atMs, place)}\n`;
    } catch (error) {
      unshown(asFleetError(error), data ?? '');
      return '';
    }
  };
  return async (items: readonly Printable[]) => items.map(lineOf);
}

async function openJson(context: Context, { unshown }: Stderr, signal: AbortSignal) {
  const jq = await context.jq();
  // Each message must be on one line: "one envelope a line, exactly as received". Line feeds occur
  // only between JSON tokens, so replacing them does not change the data.
  const lineOf = (data: string) =>
    `${escapeJson(data.includes('\n') ? data.replaceAll('\n', ' ') : data)}\n`;
  return async (items: readonly Printable[]) => {
    const messages = items.map(({ data = '' }) => data);
    if (jq === undefined) return messages.map(lineOf);
    const results = await jq.run(messages, signal);
    return results.map(({ text, error }, index) => {
      if (error !== undefined) unshown(error, messages[index] ?? '');
      return text;
    });
  };
}
