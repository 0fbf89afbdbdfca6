// The bicycles or alerts on stdin: UUIDs, JSON lines, a JSON array or CSV, checked as a whole where they are at hand, read as they come elsewhere.

import { fstatSync } from 'node:fs';
import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { type FleetError, usageError } from '../../errors.js';
import { JsonError, parseJson } from '../../json/parse.js';
import { readStdinLines } from '../../terminal/stdin.js';
import { describeBefore } from './evidence.js';
import { findDelimiter, readCsv, readJsonRows, Unreadable } from './placed.js';
import type { Before } from './records.js';

/** One bicycle or alert to act on. */
export interface Target {
  uuid: string;
  /** Where the input says so. */
  name?: string;
  /** State and version as the input has them. */
  before?: Before;
}

/** Input that is whole within this time is checked before anything is sent. */
const WHOLE_WITHIN_MS = 1000;

/** More than this is not kept to be checked first. */
const MOST_CHECKED_CHARACTERS = 64 * 1024 * 1024;

/**
 * What is to be acted on from stdin, each once; those that come again go to `onRepeated`. A file, and what arrives whole within a second, is checked to
 * its end first: then a FleetError of kind `usage` that names the line comes before the first of them. Elsewhere it comes where the line is.
 */
export async function* readTargets(context: Context, onRepeated: () => void): AsyncGenerator<Target, void, undefined> {
  const { head, rest } = await readHead(context);
  yield* targetsOf(follow(head, rest), onRepeated);
}

/** Lines kept as bytes, a thousand at a time: a hundred thousand strings would take five times as much. */
interface Packed {
  add(line: string): void;
  lines(): Generator<string, void, undefined>;
}

const LINES_A_PACK = 1000;

function openPacked(): Packed {
  const packs: Buffer[] = [];
  let open: string[] = [];
  return {
    add(line) {
      open.push(line);
      if (open.length < LINES_A_PACK) return;
      packs.push(Buffer.from(open.join('\n')));
      open = [];
    },
    *lines() {
      for (const pack of packs) yield* pack.toString().split('\n');
      yield* open;
    },
  };
}

/** The lines that are there within a second, checked as they come; `rest` is undefined when they are all. */
async function readHead({
  io,
  clock,
  signal,
}: Context): Promise<{ head: Packed; rest: AsyncIterable<string> | undefined }> {
  const lines = readStdinLines(io.stdin);
  const head = openPacked();
  const reader = openReader();
  let isLate = false;
  let wake = () => {};
  const cancel = isFile(io.stdin)
    ? () => {}
    : clock.after(WHOLE_WITHIN_MS, () => {
        isLate = true;
        wake();
      });
  const onAbort = () => void io.stdin.destroy(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (let characters = 0; ; ) {
      const next = lines.next();
      // One listener a line: a race against one promise for all of them would keep every line's.
      const got = await new Promise<IteratorResult<string> | undefined>((resolve, reject) => {
        wake = () => resolve(undefined);
        next.then(resolve, reject);
      });
      if (got === undefined || isLate || characters > MOST_CHECKED_CHARACTERS)
        return { head, rest: after(next, lines) };
      if (got.done === true) {
        reader.end();
        return { head, rest: undefined };
      }
      reader.take(got.value);
      head.add(got.value);
      characters += got.value.length;
    }
  } finally {
    cancel();
    signal.removeEventListener('abort', onAbort);
  }
}

function isFile(stdin: object): boolean {
  const { fd } = stdin as { fd?: unknown };
  try {
    return typeof fd === 'number' && fstatSync(fd).isFile();
  } catch {
    return false;
  }
}

async function* after(
  next: Promise<IteratorResult<string>>,
  lines: AsyncIterable<string>,
): AsyncGenerator<string, void, undefined> {
  const got = await next;
  if (got.done === true) return;
  yield got.value;
  yield* lines;
}

async function* follow(head: Packed, rest: AsyncIterable<string> | undefined): AsyncGenerator<string, void, undefined> {
  yield* head.lines();
  if (rest !== undefined) yield* rest;
}

async function* targetsOf(
  lines: AsyncIterable<string>,
  onRepeated: () => void,
): AsyncGenerator<Target, void, undefined> {
  const seen = new Set<string>();
  const reader = openReader();
  const isNew = ({ uuid }: Target): boolean => {
    // Sixteen bytes instead of 36 characters: a hundred thousand of them take a few megabytes.
    const short = Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('latin1');
    const isFirst = !seen.has(short);
    if (isFirst) seen.add(short);
    else onRepeated();
    return isFirst;
  };
  for await (const line of lines) {
    const target = reader.take(line);
    if (target !== undefined && isNew(target)) yield target;
  }
  for (const target of reader.end()) if (isNew(target)) yield target;
}

interface CsvHeader {
  delimiter: string;
  /** Trimmed, in lower case. */
  names: string[];
}

/** What has been understood of the input so far. */
interface ReaderState {
  /** Lines so far. */
  number: number;
  /** Undefined until the first line that says something. */
  kind: 'lines' | 'csv' | 'array' | undefined;
  header: CsvHeader | undefined;
  /** The lines of the array, or of a record of CSV whose quotes are open, and the number of the first. */
  open: string[];
  openedAt: number;
}

/** Reads line by line; what is a JSON array is read at its end. Throws a FleetError of kind `usage` that names the line. */
function openReader(): { take(line: string): Target | undefined; end(): Target[] } {
  const state: ReaderState = { number: 0, kind: undefined, header: undefined, open: [], openedAt: 0 };
  return {
    take(line) {
      state.number += 1;
      if (state.kind === 'array') {
        state.open.push(line);
        return undefined;
      }
      if (state.open.length > 0) return takeCsv(state, line);
      const text = line.trim();
      if (text === '' || text.startsWith('#')) return undefined;
      state.openedAt = state.number;
      if (state.kind === undefined && isOpening(state, text)) return undefined;
      return state.header === undefined ? readLine(text, state.number) : takeCsv(state, line);
    },
    end() {
      if (state.open.length === 0) return [];
      if (state.kind === 'array') return readArray(state);
      throw badLine(state.openedAt, 'a quote is opened here and never closed');
    },
  };
}

/** Takes in the first line that says something; true when it is no bicycle itself. */
function isOpening(state: ReaderState, text: string): boolean {
  const separator = /^sep=(.)$/i.exec(text)?.[1];
  if (separator !== undefined) {
    state.header = { delimiter: separator, names: [] };
    return true;
  }
  if (text.startsWith('[')) {
    state.kind = 'array';
    state.open.push(text);
    return true;
  }
  const delimiter = state.header?.delimiter ?? findDelimiter(text);
  const names = text.split(delimiter).map((name) => name.replaceAll('"', '').trim().toLowerCase());
  const isCsv = !text.startsWith('{') && names.includes('uuid');
  if (state.header !== undefined && !isCsv) throw badLine(state.number, 'a header without the column "uuid"');
  state.kind = isCsv ? 'csv' : 'lines';
  if (isCsv) state.header = { delimiter, names };
  return isCsv;
}

/** Takes a line of CSV, or keeps it until the quotes of its record are closed. */
function takeCsv(state: ReaderState, line: string): Target | undefined {
  const { header, open, openedAt } = state;
  if (header === undefined) return undefined;
  // A line with an odd number of quotes opens a record of several lines, and the next such line closes it.
  const isTurn = line.split('"').length % 2 === 0;
  const isOpen = isTurn !== open.length > 0;
  open.push(line);
  if (isOpen) return undefined;
  state.open = [];
  return readObject(fieldsOf(open.join('\n'), header, openedAt), openedAt);
}

function fieldsOf(record: string, { names, delimiter }: CsvHeader, line: number): { [name: string]: unknown } {
  try {
    // Most lines have no quotes, and need no reader.
    const cells = record.includes('"')
      ? readCsv(record, delimiter)[0]?.map(({ text }) => text)
      : record.split(delimiter);
    return Object.fromEntries(names.map((name, index) => [name, cells?.[index] || null]));
  } catch (error) {
    if (error instanceof Unreadable)
      throw badLine(line + error.spot.line - 1, `${error.message} (column ${error.spot.column})`);
    throw error;
  }
}

function readArray({ open, openedAt }: ReaderState): Target[] {
  try {
    return readJsonRows(open.join('\n')).map(({ spot, fields }) =>
      readObject(Object.fromEntries(fields.map(({ name, value }) => [name, value])), openedAt + spot.line - 1),
    );
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    throw badLine(openedAt + error.spot.line - 1, `${error.message} (column ${error.spot.column})`);
  }
}

/** The longest beginning of a line that an error shows. */
const SHOWN_CHARACTERS = 60;

function readLine(text: string, number: number): Target {
  if (text.startsWith('{')) {
    try {
      return readObject(parseJson(text) as { [field: string]: unknown }, number);
    } catch (error) {
      throw error instanceof JsonError ? badLine(number, error.message) : error;
    }
  }
  const at = text.search(/\s#/);
  const uuid = wholeUuid(at === -1 ? text : text.slice(0, at).trim());
  if (uuid !== undefined) return { uuid };
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  throw badLine(number, `"${shown}" is not a UUID`);
}

function readObject(fields: { [field: string]: unknown }, number: number): Target {
  const { uuid: written } = fields;
  // What people know it by: a bicycle has a name, an alert a message.
  const name = fields['name'] ?? fields['message'];
  const uuid = typeof written === 'string' ? wholeUuid(written.trim()) : undefined;
  if (uuid === undefined) throw badLine(number, '"uuid" is missing or not a UUID');
  const before = describeBefore(fields);
  return {
    uuid,
    ...(typeof name === 'string' ? { name } : {}),
    ...(before.state === null && before.version === null ? {} : { before }),
  };
}

function badLine(number: number, what: string): FleetError {
  return usageError(
    `line ${number} of stdin: ${what}; nothing from this line on was sent`,
    'stdin takes UUIDs, JSON lines, a JSON array or CSV with a "uuid" column; lists write them with -o uuid, jsonl, json or csv',
  );
}
