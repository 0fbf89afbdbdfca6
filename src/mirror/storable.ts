// What a mirror takes in: text that both databases can hold, under identifiers that an index can.

import { type PushEnvelope, uuidOfMessage } from '../api/push.js';
import type { Item } from '../http/types.js';
import { exactValue, readExact } from '../json/exact.js';

/** A UUID has 36. PostgreSQL's indexes end at 2,700 bytes. */
const LONGEST_ID_CHARACTERS = 200;

const UNSTORABLE = /\\u(?:0000|d[89a-f])/i;
/** Every escape, so that an escaped backslash is passed over; a pair of surrogates is one. */
const ESCAPES = /\\u(?:d[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|(0000|d[89a-f][\da-f]{2}))|\\[\s\S]/gi;

/** JSON whose texts hold no NUL and no half of a surrogate pair: either ends a query that reads `raw ->> 'name'` of all. */
export function storableJson(json: string): string {
  if (!UNSTORABLE.test(json)) return json;
  return json.replace(ESCAPES, (written, unstorable?: string) => (unstorable === undefined ? written : '\\ufffd'));
}

/** The items of a page as the mirror takes them, numbers as they were sent; those are left out whose uuid is none. */
export function storableItems<T extends { uuid?: unknown }>(items: readonly Item<T>[]): Item<T>[] {
  return items.flatMap((item) => {
    const json = storableJson(item.json);
    const value = json === item.json ? exactValue(item) : (readExact(json) as T);
    return isId(value?.uuid) ? [{ json, value }] : [];
  });
}

/** The bicycle that a message is about; undefined for an identifier that is none. */
export function storableUuid(envelope: PushEnvelope): string | undefined {
  const uuid = uuidOfMessage(envelope);
  return isId(uuid) ? uuid : undefined;
}

/** Without any it is the list's business. */
function isId(uuid: unknown): boolean {
  return typeof uuid !== 'string' || uuid.length <= LONGEST_ID_CHARACTERS;
}
