// What `fleet bicycles act` is told to act on: UUIDs as arguments, or lines on stdin that are read as they come.

import { TRANSITIONS } from '../../api/bicycle.js';
import { isUuid, uuidOfLink } from '../../api/links.js';
import { unknownWord } from '../../cli/nearest.js';
import { type FleetError, usageError } from '../../errors.js';
import { describeBefore } from './bulk/evidence.js';
import type { Before } from './bulk/records.js';

/** One bicycle to act on. */
export interface Target {
  uuid: string;
  /** Where the input says so. */
  name?: string;
  /** State and version as the input has them. */
  before?: Before;
}

/** Fields that are added to the body of a request. */
export type Fields = { readonly [name: string]: string | boolean };

/** The words of the command, read. */
export interface Words {
  /** What names the bicycles; `undefined` when they stand on stdin. */
  texts: readonly string[] | undefined;
  transition: string;
}

const STDIN = '-';

function readUuid(text: string): string | undefined {
  return (isUuid(text) ? text : uuidOfLink(text))?.toLowerCase();
}

/** Reads `<bicycle...> <transition>`. Throws a FleetError of kind `usage` for anything else, before anything is asked or sent. */
export function readWords(words: readonly string[], mayBeUnknown: boolean): Words {
  const transition = words.at(-1) ?? '';
  const texts = words.slice(0, -1);
  if (transition === STDIN || readUuid(transition) !== undefined) {
    throw usageError(
      'the transition is missing: it is the last word, behind the bicycles',
      `transitions: ${TRANSITIONS.join(', ')}`,
    );
  }
  if (!mayBeUnknown && !(TRANSITIONS as readonly string[]).includes(transition)) {
    throw unknownWord('transition', transition, TRANSITIONS);
  }
  if (texts.length === 0) {
    throw usageError(
      `there is no bicycle to ${transition}`,
      `write it in front: fleet bicycles act UUID ${transition}, or - to read UUIDs from stdin`,
    );
  }
  if (texts.includes(STDIN)) {
    if (texts.length === 1) return { texts: undefined, transition };
    throw usageError('- stands for all bicycles and goes with no other', 'name the bicycles, or pipe all of them in');
  }
  return { texts, transition };
}

/** Reads `--field NAME=VALUE`s into fields of the body, texts all of them but `dry_run`. Throws a FleetError of kind `usage`. */
export function readFields(texts: readonly string[] = []): Fields {
  const fields = new Map<string, string | boolean>();
  for (const text of texts) {
    const at = text.indexOf('=');
    const name = text.slice(0, at).trim();
    if (at === -1 || name === '') throw usageError(`--field takes NAME=VALUE, not "${text}"`);
    if (name === 'type') throw usageError('--field type is the transition itself', 'write it as the last word');
    if (fields.has(name)) throw usageError(`--field ${name} is given twice`);
    const value = text.slice(at + 1);
    fields.set(name, name === 'dry_run' ? readDryRun(value) : value);
  }
  return Object.fromEntries(fields);
}

function readDryRun(value: string): boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  throw usageError(`--field dry_run takes true or false, not "${value}"`);
}

/**
 * Reads bicycles from lines as they come: a UUID (or a link that ends in one), or a JSON object with a `uuid` and perhaps a `name`.
 * Empty lines count for nothing, and what came before is left out and told to `onRepeated`. Throws a FleetError of kind `usage`
 * that names the line for anything else.
 */
export async function* readTargets(
  lines: AsyncIterable<string>,
  onRepeated: (uuid: string) => void,
): AsyncGenerator<Target, void, undefined> {
  const seen = new Set<string>();
  let number = 0;
  for await (const line of lines) {
    number += 1;
    const text = line.trim();
    if (text === '') continue;
    const target = readTarget(text, number);
    // Sixteen bytes instead of 36 characters: a hundred thousand of them take a few megabytes.
    const short = Buffer.from(target.uuid.replaceAll('-', ''), 'hex').toString('latin1');
    if (seen.has(short)) {
      onRepeated(target.uuid);
      continue;
    }
    seen.add(short);
    yield target;
  }
}

function readTarget(text: string, number: number): Target {
  if (!text.startsWith('{')) {
    const uuid = readUuid(text);
    if (uuid !== undefined) return { uuid };
    throw badLine(number, `"${text.length > 60 ? `${text.slice(0, 60)}…` : text}" is no UUID`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badLine(number, 'broken JSON');
  }
  const { uuid: written, name } = value as { uuid?: unknown; name?: unknown };
  const uuid = typeof written === 'string' ? readUuid(written) : undefined;
  if (uuid === undefined) throw badLine(number, 'an object without a "uuid"');
  const before = describeBefore(value as { [field: string]: unknown });
  return {
    uuid,
    ...(typeof name === 'string' ? { name } : {}),
    ...(before.state === null && before.version === null ? {} : { before }),
  };
}

function badLine(number: number, what: string): FleetError {
  return usageError(
    `line ${number} of stdin: ${what}; neither it nor what follows was taken`,
    'stdin takes UUIDs, one a line, or JSON lines with a uuid: "fleet bicycles list -o uuid" or "-o jsonl" write them',
  );
}
