// Asks the operator: questions go to stderr, answers come from stdin; never without a terminal.

import { Writable } from 'node:stream';
import { FleetError, usageError } from '../errors.js';
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
}

/** A question with free text as its answer. */
export interface TextQuestion extends Question {
  suggestion?: string;
  /** Why the answer will not do; undefined when it will. */
  refuse?(answer: string): string | undefined;
}

/**
 * Asks for a text. Throws a FleetError of kind `usage` without a terminal, of kind `interrupted` on Ctrl-C and Ctrl-D.
 */
export async function askText(asking: Asking, question: TextQuestion): Promise<string> {
  const { suggestion } = question;
  return ask(asking, question, async (streams) => {
    const { default: input } = await import('@inquirer/input');
    return input(
      { ...settingsOf(asking, question, streams.signal), ...(suggestion === undefined ? {} : { default: suggestion }) },
      streams,
    );
  });
}

/** Asks for a text that is not shown while it is typed. Throws as askText does. */
export async function askSecret(asking: Asking, question: Omit<TextQuestion, 'suggestion'>): Promise<string> {
  return ask(asking, question, async (streams) => {
    const { default: password } = await import('@inquirer/password');
    return password(settingsOf(asking, question, streams.signal), streams);
  });
}

function settingsOf(asking: Asking, { message, refuse }: TextQuestion, signal: AbortSignal) {
  const validate = async (answer: string): Promise<true | string> => {
    const reason = refuse?.(answer);
    if (reason === undefined) return true;
    // Keys after Ctrl-C come in the same chunk: a prompt that has ended must not write to its closed reader (Bun and Node 24 throw).
    await new Promise((resolve) => setImmediate(resolve));
    return signal.aborted ? new Promise(() => {}) : reason;
  };
  return { message, theme: chooseTheme(asking), validate };
}

/** Asks for yes or no; Enter alone is no. Throws as askText does. */
export async function askYesNo(asking: Asking, question: Question): Promise<boolean> {
  return ask(asking, question, async (streams) => {
    const { default: confirm } = await import('@inquirer/confirm');
    return confirm({ message: question.message, default: false, theme: chooseTheme(asking) }, streams);
  });
}

interface PromptStreams {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
  signal: AbortSignal;
}

async function ask<T>(asking: Asking, question: Question, prompt: (streams: PromptStreams) => Promise<T>): Promise<T> {
  const { io, flags, signal } = asking;
  if (!canAsk(asking)) {
    const why = flags.input === false ? 'with --no-input' : 'without a terminal';
    throw usageError(`cannot ask ${why}: ${question.message}`, question.instead);
  }
  const { stdin, stderr } = io.streams;
  const ended = new AbortController();
  // Ctrl-D closes the prompt's reader, which would then wait for ever; an answered prompt settles before it pauses stdin.
  const onPause = () => setImmediate(() => ended.abort());
  stdin.once('pause', onPause).once('end', onPause);
  const showStatus = io.stderr.holdStatus();
  try {
    return await prompt({ input: stdin, output: keepOpen(stderr), signal: AbortSignal.any([signal, ended.signal]) });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof Error && /^(Exit|Abort|Cancel)PromptError$/.test(error.name))
      throw new FleetError('interrupted', 'interrupted', { cause: error });
    throw error;
  } finally {
    showStatus();
    stdin.off('pause', onPause).off('end', onPause);
    ended.abort();
  }
}

/** A prompt ends its output when it is done, and the program has more to say there. */
function keepOpen(stderr: Io['streams']['stderr']): Writable {
  const output = new Writable({
    write(chunk, _encoding, done) {
      // Not waited for, so that what is written after the prompt comes after it.
      stderr.write(chunk);
      done();
    },
  });
  return Object.assign(output, { isTTY: true, columns: stderr.columns, rows: stderr.rows });
}

const asItIs = (text: string): string => text;

/** The prompts bring colours of their own and know nothing of `--no-color`. */
function chooseTheme({ io }: Asking): object {
  if (io.stderr.colorLevel > 0) return {};
  const style = { answer: asItIs, message: asItIs, error: asItIs, help: asItIs, highlight: asItIs, key: asItIs };
  return { prefix: '?', style: { ...style, defaultAnswer: (text: string) => `(${text})` } };
}
