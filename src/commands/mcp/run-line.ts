// Runs a command line of fleet for an MCP tool, and collects its output.

import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import type { Context } from '../../context.js';
import { isObject, parseJson } from '../../json/parse.js';

/** The output of a command line. */
export interface LineResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A fleet error with the same fields as in `--json` output (cli.md section 3). */
export interface ToolError {
  readonly kind: string;
  readonly message: string;
  readonly hint: string | null;
  readonly exit_code: number;
  readonly request_id: string | null;
}

export interface LineOptions {
  readonly stdin?: string;
  /** A signal that is aborted when the client cancels the call. */
  readonly signal: AbortSignal;
  /**
   * Whether the command may only read. Its HTTP clients then refuse requests that change data.
   * Default: true.
   */
  readonly onlyReads?: boolean;
}

/**
 * Runs a command line with `--json`, without a terminal and without prompts. A cancelled call ends
 * the command in the same way as SIGTERM.
 */
export async function runToolLine(
  { io, clock, runLine }: Context,
  argv: readonly string[],
  { stdin = '', signal, onlyReads = true }: LineOptions,
): Promise<LineResult> {
  const signals = new EventEmitter();
  const end = () => signals.emit('SIGTERM', 'SIGTERM');
  signal.addEventListener('abort', end, { once: true });
  const stdout = openSink();
  const stderr = openSink();
  try {
    const code = await runLine(argv, {
      stdin: Object.assign(Readable.from([stdin]), { isTTY: false }),
      stdout: stdout.stream,
      stderr: stderr.stream,
      isInMemory: true,
      env: io.env,
      signals,
      clock,
      onlyReads,
    });
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    signal.removeEventListener('abort', end);
  }
}

function openSink() {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString('utf8') };
}

/** Returns the error that a command printed on stderr. */
export function errorOfLine({ code, stderr }: LineResult): ToolError {
  for (const line of stderr.trim().split('\n').reverse()) {
    const error = readError(line);
    if (error === undefined) continue;
    const trace = isObject(error['trace']) ? error['trace'] : {};
    return {
      kind: textOrElse(error['kind'], 'internal'),
      message: textOrElse(error['message'], 'the command failed'),
      hint: typeof error['hint'] === 'string' ? error['hint'] : null,
      exit_code: code,
      request_id: typeof trace['request_id'] === 'string' ? trace['request_id'] : null,
    };
  }
  return {
    kind: 'internal',
    message: 'the command failed without a message',
    hint: null,
    exit_code: code,
    request_id: null,
  };
}

function readError(line: string): { readonly [field: string]: unknown } | undefined {
  try {
    const value = parseJson(line);
    return isObject(value) && isObject(value['error']) ? value['error'] : undefined;
  } catch {
    return undefined;
  }
}

function textOrElse(value: unknown, other: string): string {
  return typeof value === 'string' ? value : other;
}
