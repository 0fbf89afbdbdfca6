// Compressed answers: what Accept-Encoding asks for, and the bytes (RFC 9110 section 12.5.3).
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

type Encoding = 'gzip' | 'br';

/** What is shorter than this gains nothing; Django's gzip middleware has the same limit. */
const SHORTEST_COMPRESSED_BYTES = 200;

/** Fast rather than small: the bytes never leave the machine. */
const GZIP_LEVEL = 1;
const BROTLI_QUALITY = 1;

/** The body as it is sent, and the headers that say how. */
export interface EncodedBody {
  body: string | Uint8Array<ArrayBuffer>;
  headers: { [name: string]: string };
}

/** Compresses the text as the Accept-Encoding header prefers; text that is short stays as it is. */
export function encodeBody(text: string, acceptEncoding: string | undefined): EncodedBody {
  const headers = { Vary: 'Accept-Encoding' };
  const encoding = preferredEncoding(acceptEncoding ?? '');
  if (encoding === undefined || text.length < SHORTEST_COMPRESSED_BYTES) return { body: text, headers };
  const bytes =
    encoding === 'gzip'
      ? gzipSync(text, { level: GZIP_LEVEL })
      : brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } });
  return { body: new Uint8Array(bytes), headers: { ...headers, 'Content-Encoding': encoding } };
}

/** The encoding with the highest q; the one named first when they are equal. */
function preferredEncoding(header: string): Encoding | undefined {
  let best: { encoding: Encoding; q: number } | undefined;
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    if (name !== 'gzip' && name !== 'br') continue;
    const q = Number(parameters.find((text) => text.startsWith('q='))?.slice(2) ?? 1);
    if (q > (best?.q ?? 0)) best = { encoding: name, q };
  }
  return best?.encoding;
}
