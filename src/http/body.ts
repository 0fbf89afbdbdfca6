// Reads the body of an answer: decompresses it and enforces the size limits.

import { pipeline, type Readable, Transform } from 'node:stream';

/** The most that is read of an answer, unpacked (cli.md section 4, promise 6). */
export const ANSWER_LIMIT_BYTES = 64 * 1024 * 1024;

/** The most that one resource takes, alone or in a page that is read as text: of a longer text, formats would make ten times as much for a moment. */
export const ITEM_LIMIT_BYTES = 1024 * 1024;

/** The most that is read of an answer that is no success: enough for its words. The rest is discarded. */
export const ERROR_BODY_LIMIT_BYTES = 64 * 1024;

/** The code of a body that is longer than what is read of it. */
export const TOO_BIG_CODE = 'EBODYTOOBIG';

/** Why a body cannot be read: too large, compressed in an unknown way, or damaged. The codes all begin with `EBODY`. */
function bodyError(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code });
}

/** The name of a `Content-Encoding`; `identity` for none. */
export function codingOf(contentEncoding: string | undefined): string {
  return (contentEncoding ?? '').trim().toLowerCase() || 'identity';
}

/** What unpacks a body; fails at the first byte of a coding that is not known. zlib is loaded for an answer that needs it. */
function openDecoder(coding: string): Transform {
  const zlib = process.getBuiltinModule('node:zlib');
  if (coding === 'gzip' || coding === 'x-gzip') return zlib.createGunzip();
  if (coding === 'deflate') return zlib.createInflate();
  if (coding === 'br') return zlib.createBrotliDecompress();
  const unknown = bodyError(
    'EBODYCODING',
    `is compressed as "${coding.slice(0, 40)}", which was not asked for`,
  );
  return new Transform({ transform: (_chunk, _, done) => done(unknown) });
}

/** The body unpacked. */
export function unpack(body: Readable, coding: string): Readable {
  // The reader gets the error.
  return coding === 'identity' ? body : pipeline(body, openDecoder(coding), () => {});
}

/** The bytes of a body, as far as they fit, growing by doubling; the chunks themselves are let go of at once, for they would double the memory. */
function openStore(limitBytes: number) {
  let bytes = Buffer.alloc(0);
  let size = 0;
  return {
    /** Adds a chunk; false when it does not fit whole. */
    add(chunk: Buffer): boolean {
      const kept = Math.min(chunk.length, limitBytes - size);
      if (size + kept > bytes.length) {
        const grown = Buffer.allocUnsafeSlow(
          Math.min(limitBytes, Math.max(2 * bytes.length, size + kept)),
        );
        bytes.copy(grown, 0, 0, size);
        bytes = grown;
      }
      chunk.copy(bytes, size, 0, kept);
      size += kept;
      return kept === chunk.length;
    },
    bytes: () => bytes.subarray(0, size),
  };
}

/** Collects a body, unpacked and counted while it is unpacked: what came and, when that is not all of it, what broke it off. */
export async function collectBody(
  body: Readable,
  headers: Readonly<Record<string, string>>,
  limitBytes: number,
): Promise<{ bytes: Buffer; error?: unknown }> {
  const coding = codingOf(headers['content-encoding']);
  const store = openStore(limitBytes);
  let isEmpty = true;
  if (coding !== 'identity')
    body.once('data', () => {
      isEmpty = false;
    });
  const unpacked = unpack(body, coding);
  const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    unpacked.on('data', (chunk: Buffer) => {
      if (store.add(chunk)) return;
      const megabytes = limitBytes / 2 ** 20;
      resolve(
        bodyError(TOO_BIG_CODE, `is larger than ${megabytes} MB, and was not read to the end`),
      );
      unpacked.destroy();
      body.destroy();
    });
    unpacked.on('end', () => resolve(undefined)).on('error', resolve);
  });
  const bytes = store.bytes();
  if (error === undefined) return { bytes };
  if (error.name === 'ExchangeError' || error.code?.startsWith('EBODY')) return { bytes, error };
  // Nothing at all is no broken coding: an answer to HEAD names one, too.
  if (isEmpty) return { bytes };
  return {
    bytes,
    error: bodyError('EBODYBROKEN', `has broken or incomplete ${coding} compression`, error),
  };
}

/** The beginning of a body, as far as it comes. */
export async function readBeginning(body: Readable, limitBytes: number): Promise<Buffer> {
  const store = openStore(limitBytes);
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) if (!store.add(chunk)) break;
  } catch {
    // What came is enough.
  }
  return store.bytes();
}
