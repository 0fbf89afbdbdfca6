// The bodies that wait to be passed on, in memory and in a file that outlives the process: a line for each, a line when it is done.

import { isObject } from '../../json/parse.js';
import { keepDamaged, openLog, readLog } from './log.js';

/** A body as it came, and the headers that are passed on with it. */
export interface Forwarded {
  readonly body: Buffer;
  readonly headers: { readonly [name: string]: string };
}

export type ForwardQueue = ReturnType<typeof openForwardQueue>;

const MOST_BODIES = 100_000;
const MOST_BYTES = 64 * 1024 * 1024;
/** The file is replaced by what waits when it has grown by more than so many times the bodies that wait. */
const TIDY_GROWTH = 2;
/** What is read of such a file: all that may wait, written as base64, and what was done meanwhile. */
const FILE_LIMIT_BYTES = 400 * 1024 * 1024;

/** Opens the queue at a path, with what was not done before. Throws a FleetError of kind `config` when it cannot be used. */
export function openForwardQueue(path: string) {
  const { text, records, broken } = readLog(path, FILE_LIMIT_BYTES);
  const keptAs = broken > 0 ? keepDamaged(path, text) : undefined;
  const waiting = restore(records);
  let bytes = 0;
  for (const { body } of waiting.values()) bytes += body.length;
  let ids = [...waiting.keys()].at(-1) ?? 0;
  const all = () => [...waiting].map(([id, forwarded]) => recordOf(id, forwarded));
  const log = openLog({ path, all, hint: 'the webhook was not accepted: its sender has to send it again' });
  return {
    /** Where the file is kept that was damaged. */
    keptAs,
    size: () => waiting.size,
    hasRoom: () => waiting.size < MOST_BODIES && bytes < MOST_BYTES,
    /** Throws a FleetError of kind `output` when it cannot be written. */
    add(forwarded: Forwarded): void {
      log.append([recordOf(++ids, forwarded)]);
      waiting.set(ids, forwarded);
      bytes += forwarded.body.length;
    },
    first: (): Forwarded | undefined => waiting.values().next().value,
    /** Forgets the first one. Throws as above. */
    done(): void {
      const [[id, { body }] = [0, { body: '' }]] = waiting;
      waiting.delete(id);
      bytes -= body.length;
      log.append([{ done: id }]);
      log.tidy(TIDY_GROWTH * bytes);
    },
    close: log.close,
  };
}

function recordOf(id: number, { headers, body }: Forwarded) {
  return { id, headers, body: body.toString('base64') };
}

/** What waits in the file, by its number. */
function restore(records: readonly unknown[]): Map<number, Forwarded> {
  const waiting = new Map<number, Forwarded>();
  for (const record of records) {
    if (!isObject(record)) continue;
    const { id, done, body, headers } = record;
    if (typeof done === 'number') waiting.delete(done);
    if (typeof id !== 'number' || typeof body !== 'string' || !isObject(headers)) continue;
    const texts = Object.entries(headers).filter((pair): pair is [string, string] => typeof pair[1] === 'string');
    waiting.set(id, { body: Buffer.from(body, 'base64'), headers: Object.fromEntries(texts) });
  }
  return waiting;
}
