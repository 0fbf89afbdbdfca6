// `--jq`: the real jq, compiled to WebAssembly; the one place that loads it.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { FleetError, usageError } from '../errors.js';
import { indent } from '../json/text.js';
import { clean, escapeJson } from './clean.js';

/** A jq program that has been found good, ready to be fed. */
export interface Jq {
  /**
   * What the program makes of one JSON text, or of several with line breaks between: a line for each result, newline included. Strings
   * come out raw. jq itself is loaded once; each call starts the program anew (about a millisecond), so a batch is best fed
   * in one call. Throws a usage error with jq's own message when the program fails; then nothing of the call is left.
   */
  filter(json: string): string;
  /**
   * What the program makes of an array, from its items one by one, so that nobody need hold all of it; undefined where only the whole
   * array will do. A program that begins with `.[] |` needs no more than one item at a time.
   */
  readonly filterItems: ((json: string) => string) | undefined;
}

export interface JqOptions {
  /** A person reads it: objects are indented, and raw strings cleaned of all but line breaks and tabs. */
  terminal: boolean;
  paintKey?: (name: string) => string;
  /** Takes what `debug` and `stderr` in the program say, a line each, not cleaned. */
  say?: (line: string) => void;
}

/**
 * Results as JSON on one line each (strings are made raw here, because the library trims what it hands back); behind `--` a program
 * such as `-1` is no flag.
 */
const FLAGS = ['--compact-output', '--'];

/**
 * Half a surrogate pair, escaped: valid JSON, no text, and jq gives up the whole input over it. The other escapes are matched to
 * step over them.
 */
const HALF_PAIR = /\\u[dD][89a-fA-F]/;
const EVERY_ESCAPE = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\(u[dD][89a-fA-F][\da-fA-F]{2}|.)/gs;

function mendPairs(json: string): string {
  if (!HALF_PAIR.test(json)) return json;
  return json.replace(EVERY_ESCAPE, (whole, single: string | undefined) =>
    single !== undefined && single.length > 1 ? '\\ufffd' : whole,
  );
}

/** Begins with the items of an array; `.[] |= …` is something else. */
const ITEM_BY_ITEM = /^\s*\.\[\]\s*\|(?!=)/;
/** What reads further inputs, or ends the program, sees whether there is one input or many. */
const SEES_INPUTS = /\b(?:input|halt)/;

/** What jq puts before its complaints; the place is that of a file nobody has. */
const COMPLAINT = /^jq: (?:parse )?error(?: \(at [^)]*\))?: /;

/**
 * Loads jq and compiles the program. Throws a usage error with jq's own message when it does not compile; nothing is run yet.
 * Assumed: numbers that the program does not calculate with keep all their digits, as jq 1.8 promises.
 */
export async function openJq(program: string, options: JqOptions): Promise<Jq> {
  const { loadJq } = await import('jq-wasm');
  // Found by its name: the library looks beside its own file, which is elsewhere once the program has been bundled.
  const jq = await loadJq({ wasmBinary: await readFile(createRequire(import.meta.url).resolve('jq-wasm/jq.wasm')) });

  function run(json: string, filter: string): string {
    let result: ReturnType<typeof jq.raw>;
    try {
      result = jq.raw(mendPairs(json), filter, FLAGS);
    } catch (error) {
      throw new FleetError('usage', '--jq: jq gave up, most likely for want of memory', {
        cause: error,
        hint: 'jq has 256 MB; feed it less by --where, or item by item: begin the program with ".[] |", or give -o jsonl',
      });
    }
    const complaints = result.stderr.split('\n').filter((line) => COMPLAINT.test(line));
    // jq's exit code is that of the last input alone, so a complaint counts as well.
    if (result.exitCode !== 0 || complaints.length > 0) throw jqError(result.stderr, complaints, result.exitCode);
    if (result.stderr !== '') for (const line of result.stderr.split('\n')) options.say?.(line);
    return result.stdout;
  }

  const feed = (filter: string) => (json: string) => {
    const results = run(json, filter);
    if (results === '') return '';
    let text = '';
    for (const line of results.split('\n')) text += `${show(line, options)}\n`;
    return text;
  };

  // Without an input the program is compiled and nothing else.
  run('', program);
  const isItemByItem = ITEM_BY_ITEM.test(program) && !SEES_INPUTS.test(program);
  return {
    filter: feed(program),
    filterItems: isItemByItem ? feed(program.replace(ITEM_BY_ITEM, '')) : undefined,
  };
}

/** jq's message on one line. What a program says by `halt_error` is its own text. */
function jqError(stderr: string, complaints: readonly string[], exitCode: number): FleetError {
  const said = complaints.length > 0 ? complaints.map((line) => line.replace(COMPLAINT, '')) : stderr.split('\n');
  const message = said
    .map((line) => line.trim().replace(/:$/, ''))
    .filter((line) => line !== '')
    .join('; ');
  return usageError(
    `--jq: ${message === '' ? `the program ended with status ${exitCode}` : message}`,
    'the manual of jq is at https://jqlang.org/manual/',
  );
}

function show(json: string, { terminal, paintKey }: JqOptions): string {
  if (json.startsWith('"')) {
    const text = JSON.parse(json) as string;
    return terminal ? text.replace(/[^\n\t]+/g, clean) : text;
  }
  const escaped = escapeJson(json);
  return terminal ? indent(escaped, '', paintKey) : escaped;
}
