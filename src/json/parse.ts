// Reads JSON text that others wrote: what is no JSON, or nests too deep to be walked through, is a typed error.

import { isDeeperThan } from './text.js';

/** The levels of brackets that are read (cli.md section 4, promise 6). Code that walks through a value may call itself so often. */
export const DEPTH_LIMIT = 500;

/** Text that is not read as JSON. The message quotes nothing of the text, which may hold a secret. */
export class JsonError extends Error {
  /** `depth`: brackets nest deeper than DEPTH_LIMIT; `syntax`: anything else. */
  readonly kind: 'syntax' | 'depth';
  /** Whether the text just ends before the value does. */
  readonly isCutOff: boolean;

  constructor(kind: 'syntax' | 'depth', isCutOff = false) {
    super(
      kind === 'depth'
        ? `JSON nested deeper than ${DEPTH_LIMIT} levels`
        : isCutOff
          ? 'JSON that breaks off'
          : 'broken JSON',
    );
    this.name = 'JsonError';
    this.kind = kind;
    this.isCutOff = isCutOff;
  }
}

/** Reads JSON text. Throws a JsonError and nothing else; takes linear time. */
export function parseJson(text: string): unknown {
  if (isDeeperThan(text, DEPTH_LIMIT)) throw new JsonError('depth');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new JsonError('syntax', error instanceof Error && /end of JSON|Unterminated/i.test(error.message));
  }
}
