// The bicycles or alerts on stdin: UUIDs, JSON lines, a JSON array or CSV, checked as a whole where they are at hand, read as they come elsewhere.

import { fstatSync } from 'node:fs';
import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { type FleetError, usageError } from '../../errors.js';
import { textOrNull } from '../../json/parse.js';
import { readStdinLines } from '../../terminal/stdin.js';
import { describeBefore } from './evidence.js';
import { findNamedRows, NAMING_FIELDS, type NamedRow, namesOf } from './named-rows.js';
import type { Task } from './plan.js';
import { readRows, Unreadable } from './rows.js';
import { unlessAborted } from './until.js';

/** Input that is whole within this time of its first row is checked before anything is sent. */
const WHOLE_WITHIN_MS = 1000;

/** More than this is not kept to be checked first. */
const MOST_CHECKED = 1_000_000;

/**
 * What is to be acted on from stdin, each once; those that come again go to `onRepeated`. A file, a table whose columns may name bicycles, and what arrives
 * whole within a second, is checked to its end first: then a FleetError of kind `usage` that names the line comes before the first of them. Elsewhere it comes where the line is.
 */
export async function* readTargets(
  context: Context,
  onRepeated: () => void,
  mayBeNamed: boolean,
): AsyncGenerator<Task, void, undefined> {
  const { io, clock, signal } = context;
  let isWhole = isFile(io.stdin);
  let isSending = false;
  const naming = {
    context,
    isByAll: true,
    onTable: () => {
      isWhole = true;
    },
    isTooLate: () => isSending,
  };
  const rows = parseRows(readStdinLines(io.stdin), mayBeNamed ? naming : undefined);
  const targets = (async function* () {
    for await (const row of rows) yield taskOf(row);
  })();
  const seen: Seen = new Map();
  const late = new AbortController();
  let next = targets.next();
  const check = async () => {
    while (seen.size < MOST_CHECKED) {
      const got = await next;
      if (got.done === true || late.signal.aborted) return;
      const { uuid, name, before } = got.value;
      if (seen.has(uuid)) onRepeated();
      else seen.set(uuid, name === null && before === undefined ? undefined : got.value);
      next = targets.next();
    }
  };
  await unlessAborted(next, signal);
  const cancel = isWhole ? () => {} : clock.after(WHOLE_WITHIN_MS, () => late.abort());
  await unlessAborted(check(), AbortSignal.any([late.signal, signal])).finally(cancel);
  signal.throwIfAborted();
  isSending = true;
  for (const [uuid, target] of seen) {
    yield target ?? plainTarget(uuid);
    seen.set(uuid, undefined);
  }
  for (let got = await next; got.done !== true; got = await targets.next()) {
    const { uuid } = got.value;
    if (seen.has(uuid)) onRepeated();
    else yield got.value;
    seen.set(uuid, undefined);
  }
}

/** A task that has its UUID. */
type Target = Task & { uuid: string };

/** What came, in its order, until it is handed out; undefined where its UUID says all of it. */
type Seen = Map<string, Target | undefined>;

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

const HEADER_WORDS = 'a header without the column "uuid"';

/** A row that names its bicycle or alert; of a plain UUID nothing else is known. */
export interface TargetRow {
  line: number;
  uuid: string;
  fields: { [field: string]: unknown };
  /** Whether its fields are cells of CSV. */
  isRecord: boolean;
  /** The field that named it. */
  namedBy: string;
}

/** How rows may name their bicycles without a UUID. */
export interface Naming {
  context: Context;
  /** Whether every column that can name one has to mean it; else the surest does, and the others are values. */
  isByAll: boolean;
  /** Called where a table may have such rows. */
  onTable?(): void;
  /** Whether bicycles of lines before were sent. */
  isTooLate?(): boolean;
}

const TOO_LATE = 'it names its bicycle, and bicycles of lines before were sent: names go first, or into a file';

/**
 * Reads line by line; what is a JSON array is read at its end. From the first row on that names its bicycle otherwise than by UUID, the rest is
 * read to its end, and all names are looked up together. Throws a FleetError of kind `usage` that names the line.
 */
export async function* parseRows(
  lines: AsyncIterable<string>,
  naming: Naming | undefined,
): AsyncGenerator<TargetRow, void, undefined> {
  const waiting: (TargetRow & Partial<NamedRow>)[] = [];
  const isHeader = (names: readonly string[], line: number, hasSeparatorLine: boolean) => {
    const found = names.filter((name) => ['uuid', ...(naming === undefined ? [] : NAMING_FIELDS)].includes(name));
    const twice = found.find((name, index) => found.indexOf(name) !== index);
    if (twice !== undefined) throw new Unreadable(`two columns are named "${twice}"`, line);
    if (found.some((name) => name !== 'uuid')) naming?.onTable?.();
    if (found.length > 0) return true;
    if (hasSeparatorLine) throw new Unreadable(HEADER_WORDS, line);
    return false;
  };
  try {
    for await (const { line, value, isRecord = false } of readRows(lines, { isHeader, hasComments: true })) {
      const row = rowOf(value, line, isRecord, naming);
      if (row.names !== undefined && naming?.isTooLate?.() === true) throw new Unreadable(TOO_LATE, line);
      if (row.names === undefined && waiting.length === 0) yield row;
      else waiting.push(row);
    }
  } catch (error) {
    throw error instanceof Unreadable ? badLine(error.line, error.message) : error;
  }
  if (naming === undefined || waiting.length === 0) return;
  const isNamed = (row: TargetRow & Partial<NamedRow>): row is TargetRow & NamedRow => row.names !== undefined;
  const found = await findNamedRows(naming.context, waiting.filter(isNamed));
  for (const row of waiting) yield isNamed(row) ? { ...row, uuid: found.get(row) ?? '' } : row;
}

function rowOf(
  value: { [field: string]: unknown } | string,
  line: number,
  isRecord: boolean,
  naming: Naming | undefined,
): TargetRow & Partial<NamedRow> {
  if (typeof value === 'string') return { line, uuid: parseUuid(value, line), fields: {}, isRecord, namedBy: 'uuid' };
  const names = naming === undefined || (value['uuid'] ?? '') !== '' ? [] : namesOf(value);
  const [first] = names;
  if (first === undefined) return { line, uuid: uuidOfRow(value, line), fields: value, isRecord, namedBy: 'uuid' };
  const row = { line, uuid: '', fields: value, isRecord, namedBy: first.field };
  return { ...row, names: naming?.isByAll === true ? names : [first] };
}

/** The longest beginning of a line that an error shows. */
const SHOWN_CHARACTERS = 60;

function parseUuid(text: string, number: number): string {
  const at = text.search(/\s#/);
  const uuid = wholeUuid((at === -1 ? text : text.slice(0, at)).trim());
  if (uuid !== undefined) return uuid;
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  throw badLine(number, `"${shown}" is not a UUID`);
}

function uuidOfRow({ uuid: written }: TargetRow['fields'], number: number): string {
  const uuid = typeof written === 'string' ? wholeUuid(written.trim()) : undefined;
  if (uuid === undefined) throw badLine(number, '"uuid" is missing or not a UUID');
  return uuid;
}

function taskOf({ uuid, fields }: TargetRow): Target {
  // What people know it by: a bicycle has a name, an alert a message.
  const name = fields['name'] ?? fields['message'];
  const before = describeBefore(fields);
  return {
    key: uuid,
    uuid,
    name: textOrNull(name),
    ...(before.state === null && before.version === null ? {} : { before }),
  };
}

export function badLine(number: number, what: string): FleetError {
  return usageError(
    `line ${number} of stdin: ${what}; nothing from this line on was sent`,
    'stdin takes UUIDs, JSON lines, a JSON array or CSV with a "uuid" column; lists write them with -o uuid, jsonl, json or csv',
  );
}
