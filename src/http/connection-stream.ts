// A stream in front of a socket that works around two faults of undici 7.

import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { openInterimFilter } from './interim.js';

/** As undici's own sockets. */
const BUFFER_BYTES = 64 * 1024;

/**
 * Passes the bytes of a socket to undici, without responses with the status 100. When a connection
 * ends while the reader of a body has paused it, an assertion of undici 7 fails, and fleet cannot
 * catch that error (nodejs/undici#5360; undici 8 fixes this but needs Node 22). This stream reports
 * the end or the error of the socket only when undici reads again.
 */
class ConnectionStream extends Duplex {
  readonly #socket: Socket;
  readonly #interim = openInterimFilter();
  /** The error of the socket, which is kept until undici reads. */
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

  /** undici reads whenever it is not paused. */
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

  /** Writes the head and the body of a request together. */
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

  /** undici calls this while a connection is idle, so that the process can end. */
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
    // Makes undici read, unless it is paused.
    this.emit('readable');
  }
}

/** Wraps a connected socket. undici uses only the members of a stream, `ref` and `unref`. */
export function wrapSocket(socket: Socket): Socket {
  return new ConnectionStream(socket) as unknown as Socket;
}
