// Asks the operator. Questions go to stderr, and answers come from stdin. Without a terminal, asks
// nothing.

import type { Interface } from 'node:readline/promises';
import { PassThrough, Writable } from 'node:stream';
import { FleetError, usageError } from '../errors.js';
import { loadPaint } from './colour.js';
import type { Io } from './io.js';
import { suspendJob } from './job-control.js';

/** The parts of the context that a question needs. */
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
  /**
   * The question. If it contains text from the service, the control characters in this text must
   * already be replaced (`clean`).
   */
  message: string;
  /** A flag or command that replaces the answer, for users without a terminal. */
  instead: string;
  /**
   * Returns the reason why an answer is invalid, or undefined for a valid answer. After an invalid
   * answer, the question is repeated.
   */
  refuse?(answer: string): string | undefined;
}

/**
 * Asks for text. Throws a FleetError of kind `usage` without a terminal, or of kind `interrupted`
 * on Ctrl-C and Ctrl-D.
 */
export function askText(asking: Asking, question: Question): Promise<string> {
  return ask(asking, question, asking.io.streams.stderr);
}

/**
 * Asks for text that is hidden while the user types it. Throws the same errors as askText. Refuses
 * pasted text with several lines or a NUL character. Part of such text is lost, and the user cannot
 * see this because the text is hidden.
 */
export async function askSecret(asking: Asking, question: Question): Promise<string> {
  return ask(asking, question, new Writable({ write: (_chunk, _encoding, done) => done() }));
}

/**
 * Asks a yes-or-no question. Pressing Enter without an answer means no. Throws the same errors as
 * askText.
 */
export async function askYesNo(asking: Asking, question: Question): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(asking, question, asking.io.streams.stderr, ' (y/N)'));
}

/**
 * Repeats the question until `refuse` accepts the answer. The user's key presses are written to
 * `echo`.
 */
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
  // The question contains names from the service, and readline writes it unchanged. Secrets must
  // therefore be hidden here.
  const shown = io.secrets.hide(message);
  const prompt = `${paint.green('?')} ${paint.bold(shown)}${choices} `;
  const isShown = echo === stderr;
  const releaseOutput = io.stderr.holdOutput();
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new FleetError('interrupted', 'interrupted'));
  // When the terminal is closed, stdin may end before SIGHUP arrives.
  const hangUp = () => interrupted.abort(new FleetError('hangup', 'hangup'));
  // fleet handles SIGQUIT, because without a handler SIGQUIT would write a core dump. The core dump
  // would contain the typed password and the token.
  const quit = () => interrupted.abort(new FleetError('quit', 'quit'));
  const keys = openKeys(stdin, hangUp, isShown);
  const reader = createInterface({
    input: keys.input,
    output: echo,
    terminal: true,
    historySize: 0,
  });
  reader.on('SIGINT', interrupt).on('close', interrupt);
  /** Whether the user pasted text that has another non-empty line after the answer. */
  let hasFurtherLine = false;
  reader.on('line', (line) => {
    hasFurtherLine ||= line !== '';
  });
  const redraw = () => {
    if (isShown) reader.prompt(true);
    else stderr.write(`\r${ERASE_LINE}${prompt}`);
  };
  const leaveJobControl = obeyJobControl(reader, keys, { redraw, quit });
  const ended = AbortSignal.any([signal, interrupted.signal]);
  try {
    for (;;) {
      if (!isShown) stderr.write(prompt);
      const answer = await reader.question(isShown ? prompt : '', { signal: ended });
      if (!isShown) stderr.write('\n');
      // The last line of a pasted text may lack a line break.
      const hasFurtherText = hasFurtherLine || reader.line !== '';
      const reason =
        refuse?.(answer) ?? (isShown ? undefined : missingPart(hasFurtherText, keys.takeNul()));
      if (reason === undefined) return answer;
      hasFurtherLine = false;
      if (!isShown) clearLine(reader);
      stderr.write(`${paint.red('>')} ${io.secrets.hide(reason)}\n`);
    }
  } catch (error) {
    if (!ended.aborted) throw error;
    stderr.write('\n');
    throw ended.reason;
  } finally {
    leaveJobControl();
    reader.close();
    keys.close();
    releaseOutput();
  }
}

/**
 * Returns a message when an answer is incomplete. Readline drops NUL characters, and all lines
 * after the first.
 */
function missingPart(hasFurtherText: boolean, hasNul: boolean): string | undefined {
  if (hasNul) return 'it must not contain a NUL character (Ctrl-Space)';
  return hasFurtherText ? 'it must be one line' : undefined;
}

/** Discards the text that readline has already read for the next question. */
function clearLine(reader: Interface): void {
  reader.write(null, { ctrl: true, name: 'e' });
  reader.write(null, { ctrl: true, name: 'u' });
}

/** The terminal's key presses as a stream that readline accepts. */
interface Keys {
  readonly input: NodeJS.ReadableStream;
  /** Turns raw mode on or off. Undefined when stdin has no raw mode. */
  setRaw: ((isRaw: boolean) => void) | undefined;
  /** Whether a NUL character was typed since the last call. */
  takeNul(): boolean;
  close(): void;
}

/**
 * Passes a terminal's key presses to readline. Readline tries to set the input mode even after the
 * terminal was closed. Node then throws an error that would end the program. `onGone` is called
 * when the terminal was closed. With `onlyFirstLine`, only the first line of pasted text is kept.
 * The other lines may contain the answer to a later, hidden question, and readline would show them.
 */
function openKeys(stdin: TerminalInput, onGone: () => void, onlyFirstLine: boolean): Keys {
  let hasNul = false;
  const set = stdin.setRawMode?.bind(stdin);
  const setRaw =
    set &&
    ((isRaw: boolean) => {
      try {
        set(isRaw);
      } catch {
        onGone();
      }
    });
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: setRaw });
  const onData = (chunk: Buffer | string) => {
    hasNul ||= chunk.includes('\0');
    // A terminal discards the keys that the user types right after Ctrl-Z. fleet drops these keys
    // too, because a second Ctrl-Z would stop fleet again after `fg`.
    const end = chunk.indexOf(CTRL_Z) + 1;
    const typed = end === 0 ? chunk : chunk.slice(0, end);
    input.write(onlyFirstLine ? typed.slice(0, endOfLine(typed)) : typed);
  };
  const onEnd = () => input.end();
  stdin.on('data', onData).on('end', onEnd).on('error', onGone).resume();
  return {
    input,
    setRaw,
    takeNul() {
      const had = hasNul;
      hasNul = false;
      return had;
    },
    close() {
      // Later errors of the closed terminal are ignored, because they must not end the program.
      stdin
        .off('data', onData)
        .off('end', onEnd)
        .off('error', onGone)
        .on('error', () => {});
      stdin.pause();
      input.destroy();
    },
  };
}

/**
 * Returns the index after the first line and its line break, or the length if there is no line
 * break.
 */
function endOfLine(chunk: Buffer | string): number {
  const ends = ['\r', '\n'].map((end) => chunk.indexOf(end)).filter((at) => at !== -1);
  if (ends.length === 0) return chunk.length;
  const end = Math.min(...ends);
  return end + (chunk.slice(end, end + 2).toString() === '\r\n' ? 2 : 1);
}

/** ECMA-48 EL: erases from the cursor to the end of the line. */
const ERASE_LINE = '\x1b[K';
const CTRL_Z = '\x1a';
const CTRL_BACKSLASH = '\x1c';

/**
 * Makes a prompt react to Ctrl-Z, `fg` and Ctrl-\. Without this, the program would end in the
 * middle of a question, because Node's readline pauses stdin after SIGCONT. `redraw` prints the
 * question and the typed text again, and `quit` ends the question. Returns a function that removes
 * the listeners.
 */
function obeyJobControl(
  reader: Interface,
  { input, setRaw }: Keys,
  { redraw, quit }: { redraw(): void; quit(): void },
): () => void {
  // Windows has no job control. If the mode of stdin cannot be set, stdin is not a terminal.
  if (setRaw === undefined || process.platform === 'win32') return () => {};
  const onContinue = () => {
    // Meanwhile, the shell has changed the terminal mode. libuv does nothing when it should set the
    // same mode again. Raw mode is therefore turned off and on again.
    setRaw(false);
    setRaw(true);
    redraw();
  };
  const onStop = () => {
    setRaw(false);
    suspendJob(onContinue);
  };
  const onKey = (_text: string | undefined, key: { sequence?: string } | undefined) => {
    if (key?.sequence === CTRL_BACKSLASH) process.kill(0, 'SIGQUIT');
  };
  const leave = () => {
    reader.off('SIGTSTP', onStop);
    input.off('keypress', onKey);
    process.off('SIGCONT', onContinue).off('SIGQUIT', quit);
  };
  reader.on('SIGTSTP', onStop);
  input.on('keypress', onKey);
  process.on('SIGCONT', onContinue).on('SIGQUIT', quit);
  return leave;
}

type TerminalInput = Io['stdin'] & { setRawMode?: (isRaw: boolean) => void };
