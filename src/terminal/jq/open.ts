// `--jq`: runs jq, compiled to WebAssembly, in a thread that can be stopped. Only this file starts
// jq.

import { randomUUID } from 'node:crypto';
import { type FleetError, usageError } from '../../errors.js';
import { indent } from '../../json/text.js';
import { type Clock, systemClock } from '../../system/clock.js';
import { inBatches } from '../batches.js';
import { clean, escapeJson } from '../clean.js';
import type { Jq, JqResult, JqRun } from './results.js';
import { openThread, type Reply } from './thread.js';

export interface JqOptions {
  /**
   * Whether a person reads the output. Objects are then indented. In strings, control characters
   * other than line breaks and tabs are replaced with visible symbols.
   */
  terminal: boolean;
  paintKey?: (name: string) => string;
  /** Receives the lines of `debug` and `stderr`, which may still contain control characters. */
  say?: (line: string) => void;
  /** Aborted when the program should end. A run in progress is stopped half a second later. */
  signal?: AbortSignal;
  clock?: Clock;
}

/**
 * The output limit for one item. A batch of items has a lower limit. If its output exceeds the
 * lower limit, jq runs for each item of the batch individually.
 */
const OUTPUT_LIMIT_BYTES = 64 * 2 ** 20;
const BATCH_OUTPUT_LIMIT_BYTES = 8 * 2 ** 20;
const BATCH = { characters: 2 ** 20 };

/** An error quotes at most this many characters of its item. */
const QUOTED_CHARACTERS = 200;

/**
 * Matches a jq program that processes the items of an array individually (`.[] | …`). Does not
 * match an update such as `.[] |= …`.
 */
const ITEM_BY_ITEM = /^\s*\.\[\]\s*\|(?!=)/;
/**
 * Matches the jq functions that start with `input` or `halt`. A program that calls one of them
 * needs a separate run for each input.
 */
const SEES_INPUTS = /\b(?:input|halt)/;

/**
 * The prefix of jq's error messages. The prefix contains a path that is not a file of the user, so
 * it is removed.
 */
const COMPLAINT = /^jq: (?:parse )?error(?: \(at [^)]*\))?: /;

/**
 * Starts jq and compiles the program without running it. Throws a usage error with jq's message
 * when the program does not compile. Assumed: numbers that are not calculated keep all their
 * digits, as jq 1.8 promises.
 */
export async function openJq(program: string, options: JqOptions): Promise<Jq> {
  const thread = openThread(options.clock ?? systemClock());
  const ask = (source: string, input: string, limitBytes: number, signal = options.signal) =>
    thread.ask({ program: source, input, limitBytes }, signal);
  try {
    // Without an input jq only compiles the program.
    const compiled = await ask(program, '', OUTPUT_LIMIT_BYTES);
    const error = errorOf(compiled, '');
    if (error !== undefined) throw error;
    const isItemByItem = ITEM_BY_ITEM.test(program) && !SEES_INPUTS.test(program);
    return {
      run: openRun(program, ask, options),
      runItems: isItemByItem ? openRun(program.replace(ITEM_BY_ITEM, ''), ask, options) : undefined,
      close: thread.close,
    };
  } catch (error) {
    await thread.close();
    throw error;
  }
}

type Ask = (
  source: string,
  input: string,
  limitBytes: number,
  signal?: AbortSignal,
) => Promise<Reply>;

function openRun(program: string, ask: Ask, options: JqOptions): JqRun {
  /** The separator line that jq prints after the results of each item. */
  const mark = JSON.stringify(randomUUID());

  async function runOne(item: string, signal: AbortSignal | undefined): Promise<JqResult> {
    const reply = await ask(program, item, OUTPUT_LIMIT_BYTES, signal);
    if ('failure' in reply) return { text: '', error: errorOf(reply, item) };
    sayAll(reply.stderr, options);
    return { text: showAll(reply.stdout, options), error: errorOf(reply, item) };
  }

  /**
   * Runs jq once for all items. If this fails because of an error, too much output, or a program
   * that reads beyond its item, runs jq for each item separately.
   */
  async function runBatch(
    items: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<JqResult[]> {
    if (items.length > 1) {
      const reply = await ask(
        `(${program}\n), ${mark}`,
        items.join('\n'),
        BATCH_OUTPUT_LIMIT_BYTES,
        signal,
      );
      const texts = 'stdout' in reply ? `${reply.stdout}\n`.split(`${mark}\n`).slice(0, -1) : [];
      if ('stdout' in reply && texts.length === items.length && errorOf(reply, '') === undefined) {
        sayAll(reply.stderr, options);
        return texts.map((text) => ({
          text: showAll(text.slice(0, -1), options),
          error: undefined,
        }));
      }
    }
    const singles: JqResult[] = [];
    for (const item of items) singles.push(await runOne(item, signal));
    return singles;
  }

  return async (items, signal) => {
    const results: JqResult[] = [];
    for (const batch of inBatches(items, ({ length }) => length, BATCH))
      for (const result of await runBatch(batch, signal)) results.push(result);
    return results;
  };
}

function linesOf(stdout: string): string[] {
  return stdout === '' ? [] : stdout.split('\n');
}

function sayAll(stderr: string, { say }: JqOptions): void {
  for (const line of linesOf(stderr)) if (!COMPLAINT.test(line)) say?.(line);
}

const LIMITS = {
  output: 'writes more than 64 MB for one input',
  memory: 'needs more than 256 MB',
} as const;
const LIMIT_HINT =
  'filter with --where, or work item by item: start the program with ".[] |", or use -o jsonl';
const MANUAL = 'jq manual: https://jqlang.org/manual/';
/** jq's error message when a program calls `input` and there is no further input. */
const NO_INPUT = 'break';

/**
 * Returns the error of a run, or undefined. Also checks the error messages, because jq's exit code
 * depends only on the last input.
 */
function errorOf(reply: Reply, item: string): FleetError | undefined {
  if ('failure' in reply)
    return usageError(`--jq: the program ${LIMITS[reply.failure]}`, LIMIT_HINT);
  const lines = linesOf(reply.stderr);
  const complaints = lines.filter((line) => COMPLAINT.test(line));
  if (reply.exitCode === 0 && complaints.length === 0) return undefined;
  // The user's jq program sets the text of `halt_error`, so the text can contain anything.
  const texts = (complaints.length > 0 ? complaints : lines).map((line) =>
    line.replace(COMPLAINT, '').trim().replace(/:$/, ''),
  );
  const said =
    texts.filter((text) => text !== '').join('; ') ||
    `the program ended with status ${reply.exitCode}`;
  const message =
    said === NO_INPUT ? 'there is no further input: the program gets one JSON value per run' : said;
  const quoted = item.length > QUOTED_CHARACTERS ? `${item.slice(0, QUOTED_CHARACTERS)}…` : item;
  return usageError(
    `--jq: ${message}`,
    item === '' ? MANUAL : `the input was ${quoted}; ${MANUAL}`,
  );
}

function showAll(stdout: string, options: JqOptions): string {
  return linesOf(stdout)
    .map((line) => `${show(line, options)}\n`)
    .join('');
}

function show(json: string, { terminal, paintKey }: JqOptions): string {
  if (json.startsWith('"')) {
    const text = JSON.parse(json) as string;
    return terminal ? text.replace(/[^\n\t]+/g, clean) : text;
  }
  const escaped = escapeJson(json);
  return terminal ? indent(escaped, '', paintKey) : escaped;
}
