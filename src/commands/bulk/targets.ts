// The bicycles or alerts on stdin: UUIDs, JSON lines, a JSON array or CSV, checked as a whole where they are at hand, read as they come elsewhere.

import { fstatSync } from 'node:fs';
import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { type FleetError, usageError } from '../../errors.js';
import { textOrNull } from '../../json/parse.js';
import { readStdinLines } from '../../terminal/stdin.js';
import { describeBefore } from './evidence.js';
import { findNamedRows, NAMING_FIELDS, type NamedRow, namedRow } from './named-rows.js';
import type { Task } from './plan.js';
import { readRows, Unreadable } from './rows.js';
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
  context: Context,
  onRepeated: () => void,
  mayBeNamed: boolean,
): AsyncGenerator<Task, void, undefined> {
  const { io, clock, signal } = context;
  const rows = parseRows(readStdinLines(io.stdin), mayBeNamed ? context : undefined);
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
  const cancel = isFile(io.stdin) ? () => {} : clock.after(WHOLE_WITHIN_MS, () => late.abort());
  await unlessAborted(check(), AbortSignal.any([late.signal, signal])).finally(cancel);
  signal.throwIfAborted();
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

/**
 * Reads line by line; what is a JSON array is read at its end, and so are rows that name their bicycles otherwise, which are looked up together.
 * Throws a FleetError of kind `usage` that names the line.
 */
export async function* parseRows(
  lines: AsyncIterable<string>,
  context: Context | undefined,
): AsyncGenerator<TargetRow, void, undefined> {
  const named: (NamedRow & { isRecord: boolean })[] = [];
  const naming = context === undefined ? ['uuid'] : ['uuid', ...NAMING_FIELDS];
  const isHeader = (names: readonly string[], line: number, hasSeparatorLine: boolean) => {
    const found = names.filter((name) => naming.includes(name));
    const twice = found.find((name, index) => found.indexOf(name) !== index);
    if (twice !== undefined) throw new Unreadable(`two columns are named "${twice}"`, line);
    if (found.length > 0) return true;
    if (hasSeparatorLine) throw new Unreadable(HEADER_WORDS, line);
    return false;
  };
  try {
    for await (const { line, value, isRecord = false } of readRows(lines, { isHeader, hasComments: true })) {
      if (typeof value === 'string') {
        yield { line, uuid: parseUuid(value, line), fields: {}, isRecord, namedBy: 'uuid' };
        continue;
      }
      const row = context !== undefined && (value['uuid'] ?? '') === '' ? namedRow(value, line) : undefined;
      if (row !== undefined) named.push({ ...row, isRecord });
      else yield { line, uuid: uuidOfRow(value, line), fields: value, isRecord, namedBy: 'uuid' };
    }
  } catch (error) {
    throw error instanceof Unreadable ? badLine(error.line, error.message) : error;
  }
  if (context === undefined || named.length === 0) return;
  const found = await findNamedRows(context, named);
  for (const row of named) {
    const { line, fields, isRecord, field } = row;
    yield { line, uuid: found.get(row) ?? '', fields, isRecord, namedBy: field };
  }
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
