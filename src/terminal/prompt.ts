// Asks the operator: questions go to stderr, answers come from stdin; never without a terminal.

import { Writable } from 'node:stream';
import { FleetError, usageError } from '../errors.js';
import { loadPaint } from './colour.js';
import type { Io } from './io.js';

/** What a question needs of the context. */
export interface Asking {
  readonly io: Io;
  readonly flags: { readonly input?: boolean };
  readonly signal: AbortSignal;
}

/** Whether a question can be asked: stdin and stderr are terminals and `--no-input` was not given. */
export function canAsk({ io, flags }: Asking): boolean {
  return flags.input !== false && io.stdin.isTTY === true && io.stderr.isTerminal;
}

export interface Question {
  /** Cleaned already when it names something that the service sent. */
  message: string;
  /** What to do instead without a terminal: a flag or a command. */
  instead: string;
  /** Why the answer will not do, and is asked for again; undefined when it will. */
  refuse?(answer: string): string | undefined;
}

/** Asks for a text. Throws a FleetError of kind `usage` without a terminal, of kind `interrupted` on Ctrl-C and Ctrl-D. */
export function askText(asking: Asking, question: Question): Promise<string> {
  return ask(asking, question, asking.io.streams.stderr);
}

/** Asks for a text that is not shown while it is typed. Throws as askText does. */
export async function askSecret(asking: Asking, question: Question): Promise<string> {
  return ask(asking, question, new Writable({ write: (_chunk, _encoding, done) => done() }));
}

/** Asks for yes or no; Enter alone is no. Throws as askText does. */
export async function askYesNo(asking: Asking, question: Question): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(asking, question, asking.io.streams.stderr, ' (y/N)'));
}

/** Asks until the answer will do; `echo` is given what is typed. */
async function ask(
  asking: Asking,
  { message, instead, refuse }: Question,
  echo: NodeJS.WritableStream,
  choices = '',
): Promise<string> {
  const { io, flags, signal } = asking;
  if (!canAsk(asking)) {
    const why = flags.input === false ? 'with --no-input' : 'without a terminal';
    throw usageError(`cannot ask ${why}: ${message}`, instead);
  }
  const { createInterface } = await import('node:readline/promises');
  const { stdin, stderr } = io.streams;
  const paint = await loadPaint(io.stderr.colorLevel);
  const prompt = `${paint.green('?')} ${paint.bold(message)}${choices} `;
  const showStatus = io.stderr.holdStatus();
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new FleetError('interrupted', 'interrupted'));
  const reader = createInterface({ input: stdin, output: echo, terminal: true, historySize: 0 });
  reader.on('SIGINT', interrupt).on('close', interrupt);
  const ended = AbortSignal.any([signal, interrupted.signal]);
  try {
    for (;;) {
      const isShown = echo === stderr;
      if (!isShown) stderr.write(prompt);
      const answer = await reader.question(isShown ? prompt : '', { signal: ended });
      if (!isShown) stderr.write('\n');
      const reason = refuse?.(answer);
      if (reason === undefined) return answer;
      stderr.write(`${paint.red('>')} ${reason}\n`);
    }
  } catch (error) {
    if (!ended.aborted) throw error;
    stderr.write('\n');
    throw ended.reason;
  } finally {
    reader.close();
    showStatus();
  }
}
