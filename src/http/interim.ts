// Removes `100 Continue` responses from the bytes of a connection.

/** Searches at most this many bytes for the end of an interim response. */
const LONGEST_HEAD_BYTES = 64 * 1024;
const INTERIM = /^HTTP\/1\.\d 1\d\d/;
const CONTINUE = /^HTTP\/1\.\d 100/;
const SWITCHING = /^HTTP\/1\.\d 101/;
/** The number of bytes needed to recognise the status: the length of `HTTP/1.1 100`. */
const STATUS_BYTES = 12;

export interface InterimFilter {
  /**
   * Must be called when a request is written. The next bytes from the service are then treated as
   * the beginning of a response.
   */
  expectResponse(): void;
  /**
   * Returns the bytes that may be passed on to undici. Holds back the first bytes of a response
   * until its status is known.
   */
  filter(chunk: Buffer): Buffer;
  /**
   * Returns the bytes that `filter` still holds back. Must be called at the end of the connection.
   */
  flush(): Buffer;
}

/**
 * Opens a filter that removes `100 Continue` responses. A client must ignore these responses even
 * if it did not ask for them (RFC 9110, 15.2). undici 7 does not ignore them.
 */
export function openInterimFilter(): InterimFilter {
  let isAtStart = true;
  let kept = Buffer.alloc(0);

  function filter(chunk: Buffer): Buffer {
    if (!isAtStart) return chunk;
    let rest = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
    kept = Buffer.alloc(0);
    const passed: Buffer[] = [];
    while (rest.length > 0) {
      if (rest.length < STATUS_BYTES && rest[0] === 'H'.charCodeAt(0)) return keep(rest, passed);
      const status = rest.toString('latin1', 0, STATUS_BYTES);
      if (!INTERIM.test(status) || SWITCHING.test(status)) {
        isAtStart = false;
        break;
      }
      const end = rest.indexOf('\r\n\r\n') + '\r\n\r\n'.length;
      if (end < '\r\n\r\n'.length) {
        if (rest.length <= LONGEST_HEAD_BYTES) return keep(rest, passed);
        isAtStart = false;
        break;
      }
      if (!CONTINUE.test(status)) passed.push(rest.subarray(0, end));
      rest = rest.subarray(end);
    }
    return Buffer.concat([...passed, rest]);
  }

  function keep(rest: Buffer, passed: readonly Buffer[]): Buffer {
    kept = Buffer.from(rest);
    return Buffer.concat(passed);
  }

  return {
    expectResponse() {
      isAtStart = true;
    },
    filter,
    flush() {
      const rest = kept;
      kept = Buffer.alloc(0);
      return rest;
    },
  };
}
