// A stream between a socket and undici that works around two bugs of undici 7.

import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { openInterimFilter } from './interim.js';

/** The buffer size of undici's own sockets. */
const BUFFER_BYTES = 64 * 1024;

/**
 * Passes the bytes of a socket to undici, and removes `100 Continue` responses. When a connection
 * ends while a body is paused, undici 7 throws an assertion error that fleet cannot catch
 * (nodejs/undici#5360; undici 8 fixes this but needs Node 22). To prevent this, the stream does not
 * report the end or an error of the socket until undici reads again.
 */
class ConnectionStream extends Duplex {
  readonly #socket: Socket;
  readonly #interim = openInterimFilter();
  /**
   * The socket's error. The stream fails with this error after undici has read all data that
   * arrived earlier.
   */
  #failure: Error | undefined;

  constructor(socket: Socket) {
    super({ readableHighWaterMark: BUFFER_BYTES });
    this.#socket = socket;
    socket
      .on('data', (chunk: Buffer) => this.#pass(this.#interim.filter(chunk)))
      .on('end', () => {
        this.#pass(this.#interim.flush());
        this.push(null);
      })
      .on('error', (error) => this.#fail(error))
      .on('close', () => {
        if (this.readableEnded || this.destroyed || socket.readableEnded) return;
        this.#fail(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }));
      });
  }

  /**
   * Reports a delayed error of the socket after the received bytes were read. undici calls this
   * method whenever it is not paused.
   */
  override read(size?: number): unknown {
    const chunk: unknown = super.read(size);
    if (chunk === null && this.#failure !== undefined) this.destroy(this.#failure);
    return chunk;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void) {
    this.#interim.expectResponse();
    this.#socket.write(chunk, encoding, done);
  }

  /** Writes the headers and the body of a request in a single write. */
  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'binary', done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  /**
   * undici calls `ref` and `unref` on its socket. With `unref`, an idle connection does not keep
   * the process alive.
   */
  ref(): this {
    this.#socket.ref();
    return this;
  }

  unref(): this {
    this.#socket.unref();
    return this;
  }

  #pass(chunk: Buffer): void {
    if (chunk.length > 0 && !this.push(chunk)) this.#socket.pause();
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined || this.destroyed) return;
    this.#failure = error;
    // Makes undici call `read`, unless undici is paused.
    this.emit('readable');
  }
}

/**
 * Wraps a connected socket. undici needs only stream methods, `ref` and `unref`, not a real Socket.
 */
export function wrapSocket(socket: Socket): Socket {
  return new ConnectionStream(socket) as unknown as Socket;
}
