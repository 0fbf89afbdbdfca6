// Prints what is followed: lines, JSON lines or the output of jq; a message that cannot be shown is reported and skipped.

import type { Context } from '../../../context.js';
import { asFleetError, usageError } from '../../../errors.js';
import { escapeJson } from '../../../terminal/clean.js';
import { loadPaint } from '../../../terminal/colour.js';
import { changeLine, type ShownEntry } from '../../../views/watch.js';
import type { Form, Stderr } from './stderr.js';

/** Lines or JSON lines for `verb`. Another format of the settings means lists; asked for by flag it cannot be given (kind `usage`). */
export async function chooseLines(
  { settings, flags }: Context,
  verb: string,
): Promise<'lines' | 'json'> {
  const { output } = await settings();
  const isJson = output.value === 'json' || output.value === 'jsonl';
  if (flags.file !== undefined)
    throw usageError(`${verb} writes lines as they come and takes no --file`, 'use > FILE');
  if (output.origin === 'flag' && !isJson && output.value !== 'table')
    throw usageError(`${verb} writes lines, or JSON lines with --json, not ${output.value}`);
  if (flags.columns !== undefined) throw usageError(`${verb} writes lines and takes no --columns`);
  return isJson || flags.jq !== undefined ? 'json' : 'lines';
}

/** One message, or what was found in the list, as it is to be printed. */
export interface Printable {
  readonly entry: ShownEntry;
  /** When it came, by the machine's date. */
  readonly atMs: number;
  /** The JSON as it came; undefined for what has none of its own. */
  readonly data: string | undefined;
}

/** Writes them in order; `onDelivered` is called with how many were taken as they are. */
export type Print = (
  items: readonly Printable[],
  onDelivered: (count: number) => void,
) => Promise<void>;

/** How many are written at once: so many are lost to the count at most when the reader stops. */
const TOGETHER = 100;

/** What cannot be shown or filtered is said on `stderr`; a program of `--jq` is stopped with the signal. */
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
    // What has no JSON of its own was said on stderr.
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

async function openLines({ io: { stdout } }: Context, { zone, unshown }: Stderr) {
  const paint = await loadPaint(stdout.colorLevel);
  const lineOf = ({ entry, atMs, data }: Printable) => {
    try {
      const place = { width: stdout.width(), terminal: stdout.isTerminal, zone, paint };
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
  // "One envelope a line, exactly as received": newlines between its tokens are all that can be taken out.
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
