// The bicycles or alerts on stdin: UUIDs, JSON lines, a JSON array or CSV, checked as a whole where they are at hand, read as they come elsewhere.

import { fstatSync } from 'node:fs';
import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { type FleetError, usageError } from '../../errors.js';
import { JsonError, parseJson, textOrNull } from '../../json/parse.js';
import { readStdinLines } from '../../terminal/stdin.js';
import { describeBefore } from './evidence.js';
import { findDelimiter, readCsv, readJsonRows, Unreadable } from './placed.js';
import type { Task } from './plan.js';
import { unlessAborted } from './until.js';

/** Input that is whole within this time is checked before anything is sent. */
const WHOLE_WITHIN_MS = 1000;

/** More than this is not kept to be checked first. */
const MOST_CHECKED = 1_000_000;

/**
 * What is to be acted on from stdin, each once; those that come again go to `onRepeated`. A file, and what arrives whole within a second, is checked to
 * its end first: then a FleetError of kind `usage` that names the line comes before the first of them. Elsewhere it comes where the line is.
 */
export async function* readTargets(
  { io, clock, signal }: Context,
  onRepeated: () => void,
): AsyncGenerator<Task, void, undefined> {
  const targets = parseTargets(readStdinLines(io.stdin));
  const seen: Seen = new Map();
  const late = new AbortController();
  let next = targets.next();
  const check = async () => {
    while (seen.size < MOST_CHECKED) {
      const got = await next;
      if (got.done === true || late.signal.aborted) return;
      const { uuid, name, before } = got.value;
      const key = packUuid(uuid);
      if (seen.has(key)) onRepeated();
      else seen.set(key, name === null && before === undefined ? undefined : got.value);
      next = targets.next();
    }
  };
  const cancel = isFile(io.stdin) ? () => {} : clock.after(WHOLE_WITHIN_MS, () => late.abort());
  await unlessAborted(check(), AbortSignal.any([late.signal, signal])).finally(cancel);
  signal.throwIfAborted();
  for (const [key, target] of seen) {
    yield target ?? plainTarget(unpackUuid(key));
    seen.set(key, undefined);
  }
  for (let got = await next; got.done !== true; got = await targets.next()) {
    const key = packUuid(got.value.uuid);
    if (seen.has(key)) onRepeated();
    else yield got.value;
    seen.set(key, undefined);
  }
}

/** A task that has its UUID. */
type Target = Task & { uuid: string };

/** What came, in its order, until it is handed out; undefined where its UUID says all of it. */
type Seen = Map<string, Target | undefined>;

/** Sixteen bytes instead of 36 characters: a hundred thousand of them take a few megabytes. */
function packUuid(uuid: string): string {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('latin1');
}

function unpackUuid(packed: string): string {
  const digits = Buffer.from(packed, 'latin1').toString('hex');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function plainTarget(uuid: string): Target {
  return { key: uuid, uuid, name: null };
}

/** All of them. Rejects with the signal's reason as soon as it is aborted. */
export async function collect<T>(items: AsyncIterable<T>, signal: AbortSignal): Promise<T[]> {
  const collected: T[] = [];
  const fill = async () => {
    for await (const item of items) collected.push(item);
  };
  await unlessAborted(fill(), signal);
  signal.throwIfAborted();
  return collected;
}

function isFile(stdin: object): boolean {
  const { fd } = stdin as { fd?: unknown };
  try {
    return typeof fd === 'number' && fstatSync(fd).isFile();
  } catch {
    return false;
  }
}

interface CsvHeader {
  delimiter: string;
  /** Trimmed, in lower case. */
  names: string[];
}

/** Reads line by line; what is a JSON array is read at its end. Throws a FleetError of kind `usage` that names the line. */
async function* parseTargets(lines: AsyncIterable<string>): AsyncGenerator<Target, void, undefined> {
  let number = 0;
  let format: 'lines' | 'array' | CsvHeader | undefined;
  let separator: string | undefined;
  /** The lines of the array, or of a record of CSV whose quotes are open, and the number of the first. */
  let open: string[] = [];
  let openedAt = 0;
  for await (const line of lines) {
    number += 1;
    if (open.length === 0) {
      const text = line.trim();
      if (text === '' || text.startsWith('#')) continue;
      openedAt = number;
      if (format === undefined) {
        const isSeparator = separator === undefined && /^sep=.$/i.test(text);
        if (isSeparator) separator = text.at(-1);
        else format = text.startsWith('[') ? 'array' : findFormat(text, separator, number);
        if (isSeparator || typeof format === 'object') continue;
      }
      if (format === 'lines') {
        yield parseLine(text, number);
        continue;
      }
    }
    // A line of CSV with an odd number of quotes opens a record of several lines, and the next such line closes it.
    const isTurn = line.split('"').length % 2 === 0;
    const isOpen = isTurn !== open.length > 0;
    open.push(line);
    if (typeof format !== 'object' || isOpen) continue;
    yield taskOf(parseRecord(open.join('\n'), format, openedAt), openedAt);
    open = [];
  }
  if (open.length === 0) return;
  if (format !== 'array') throw badLine(openedAt, 'a quote is opened here and never closed');
  const text = open.join('\n');
  if (/^\s*\[\s*"/.test(text)) return yield* parseTexts(text, openedAt);
  for (const { spot, fields } of atLine(openedAt, () => readJsonRows(text)))
    yield taskOf(Object.fromEntries(fields.map(({ name, value }) => [name, value])), openedAt + spot.line - 1);
}

/** What the first line that says something begins: CSV, when it is a header with the column, else lines of their own. */
function findFormat(text: string, separator: string | undefined, number: number): CsvHeader | 'lines' {
  const delimiter = separator ?? findDelimiter(text);
  const names = text.split(delimiter).map((name) => name.replaceAll('"', '').trim().toLowerCase());
  if (!text.startsWith('{') && names.includes('uuid')) return { delimiter, names };
  if (separator === undefined) return 'lines';
  throw badLine(number, 'a header without the column "uuid"');
}

function parseRecord(record: string, { names, delimiter }: CsvHeader, number: number): { [name: string]: unknown } {
  // Most lines have no quotes, and need no reader.
  const cells = record.includes('"')
    ? atLine(number, () => readCsv(record, delimiter))[0]?.map(({ text }) => text)
    : record.split(delimiter);
  return Object.fromEntries(names.map((name, index) => [name, cells?.[index] || null]));
}

/** Reads a text that begins in that line of stdin. */
function atLine<T>(number: number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    throw badLine(number + error.spot.line - 1, `${error.message} (column ${error.spot.column})`);
  }
}

/** The longest beginning of a line that an error shows. */
const SHOWN_CHARACTERS = 60;

/** The UUIDs of a JSON array of texts that begins in that line. */
function parseTexts(text: string, number: number): Target[] {
  const values = readJson(text, number) as unknown[];
  return values.map((value) => parseUuid(typeof value === 'string' ? value : JSON.stringify(value), number));
}

function readJson(text: string, number: number): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw error instanceof JsonError ? badLine(number, error.message) : error;
  }
}

function parseLine(text: string, number: number): Target {
  if (text.startsWith('{')) return taskOf(readJson(text, number) as { [field: string]: unknown }, number);
  const at = text.search(/\s#/);
  return parseUuid(at === -1 ? text : text.slice(0, at).trim(), number);
}

function parseUuid(text: string, number: number): Target {
  const uuid = wholeUuid(text.trim());
  if (uuid !== undefined) return plainTarget(uuid);
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  throw badLine(number, `"${shown}" is not a UUID`);
}

function taskOf(fields: { [field: string]: unknown }, number: number): Target {
  const { uuid: written } = fields;
  // What people know it by: a bicycle has a name, an alert a message.
  const name = fields['name'] ?? fields['message'];
  const uuid = typeof written === 'string' ? wholeUuid(written.trim()) : undefined;
  if (uuid === undefined) throw badLine(number, '"uuid" is missing or not a UUID');
  const before = describeBefore(fields);
  return {
    key: uuid,
    uuid,
    name: textOrNull(name),
    ...(before.state === null && before.version === null ? {} : { before }),
  };
}

function badLine(number: number, what: string): FleetError {
  return usageError(
    `line ${number} of stdin: ${what}; nothing from this line on was sent`,
    'stdin takes UUIDs, JSON lines, a JSON array or CSV with a "uuid" column; lists write them with -o uuid, jsonl, json or csv',
  );
}
