// The words of `fleet bicycles act`: what names the bicycles, the transition, the fields of the body.

import { TRANSITIONS } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { unknownWord } from '../../cli/nearest.js';
import { usageError } from '../../errors.js';

/** Fields that are added to the body of a request. */
export type Fields = { readonly [name: string]: string | boolean };

/** The words of the command, read. */
export interface Words {
  /** What names the bicycles; `undefined` when they stand on stdin. */
  texts: readonly string[] | undefined;
  transition: string;
}

const STDIN = '-';

/** Reads `<bicycle...> <transition>`. Throws a FleetError of kind `usage` for anything else, before anything is asked or sent. */
export function readWords(words: readonly string[], mayBeUnknown: boolean): Words {
  const transition = words.at(-1) ?? '';
  const texts = words.slice(0, -1);
  if (transition === STDIN || wholeUuid(transition) !== undefined) {
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
