// Prints what is followed: lines, JSON lines or the output of jq; a message that cannot be shown is reported and skipped.

import type { Context } from '../../../context.js';
import { asFleetError, usageError } from '../../../errors.js';
import { escapeJson } from '../../../terminal/clean.js';
import { loadPaint } from '../../../terminal/colour.js';
import { changeLine, type ShownEntry } from '../../../views/change.js';
import type { Form, Stderr } from './stderr.js';

/** Lines or JSON lines for `verb`. Another format of the settings means lists; asked for by flag it cannot be given (kind `usage`). */
export async function chooseLines({ settings, flags }: Context, verb: string): Promise<'lines' | 'json'> {
  const { output } = await settings();
  const isJson = output.value === 'json' || output.value === 'jsonl';
  if (output.origin === 'flag' && !isJson && output.value !== 'table') {
    throw usageError(`${verb} writes lines, or JSON lines with --json, not ${output.value}`);
  }
  if (flags.columns !== undefined) throw usageError(`${verb} writes lines and takes no --columns`);
  if (flags.file !== undefined) throw usageError(`${verb} writes lines as they come and takes no --file`, 'use > FILE');
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
export type Print = (items: readonly Printable[], onDelivered: (count: number) => void) => Promise<void>;

/** How many are written at once: so many are lost to the count at most when the reader stops. */
const TOGETHER = 100;

/** What cannot be shown or filtered is said on `stderr`; a program of `--jq` is stopped with the signal. */
export async function openPrinter(context: Context, form: Form, stderr: Stderr, signal: AbortSignal): Promise<Print> {
  const { stdout } = context.io;
  const jq = await context.jq();
  if (form === 'json') return openJsonPrinter(stdout.write, jq, stderr, signal);
  const paint = await loadPaint(stdout.colorLevel);
  const { isTerminal: terminal } = stdout;
  const { offsetMinutes, unshown } = stderr;
  const lineOf = ({ entry, atMs, data }: Printable) => {
    try {
      return `${changeLine(entry, atMs, { width: stdout.width(), terminal, offsetMinutes, paint })}\n`;
    } catch (error) {
      unshown(asFleetError(error), data ?? '');
      return '';
    }
  };
  return (items, onDelivered) => writeAll(items.map(lineOf), stdout.write, onDelivered);
}

function openJsonPrinter(
  write: (text: string) => Promise<void>,
  jq: Awaited<ReturnType<Context['jq']>>,
  { unshown }: Stderr,
  signal: AbortSignal,
): Print {
  // "One envelope a line, exactly as received": newlines between its tokens are all that can be taken out.
  const lineOf = (data: string) => `${escapeJson(data.includes('\n') ? data.replaceAll('\n', ' ') : data)}\n`;
  return async (items, onDelivered) => {
    const messages = items.flatMap(({ data }) => (data === undefined ? [] : [data]));
    // What has no JSON of its own was said on stderr.
    onDelivered(items.length - messages.length);
    if (jq === undefined) return writeAll(messages.map(lineOf), write, onDelivered);
    const results = await jq.run(messages, signal);
    for (const [index, { error }] of results.entries()) {
      if (error !== undefined) unshown(error, messages[index] ?? '');
    }
    await writeAll(
      results.map(({ text }) => text),
      write,
      onDelivered,
    );
  };
}

async function writeAll(
  texts: readonly string[],
  write: (text: string) => Promise<void>,
  onDelivered: (count: number) => void,
): Promise<void> {
  for (let at = 0; at < texts.length; at += TOGETHER) {
    const chunk = texts.slice(at, at + TOGETHER);
    await write(chunk.join(''));
    onDelivered(chunk.length);
  }
}
