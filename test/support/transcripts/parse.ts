// Reads a transcript: a Markdown file with a header and fenced blocks. CONTRIBUTING.md describes the
// format.

import { basename } from 'node:path';
import { parse as parseYaml } from 'yaml';

/** The fields of the header between the two `---` lines. */
export interface TranscriptHeader {
  /** `sandbox --bicycles 50`, `hostile breakOff honest`, `answers` or `none`. */
  service: string;
  /** Whether the clock stands still or runs. Both start at the same moment. */
  clock: 'still' | 'running';
  /** `built` runs every line with bash and the built program. */
  program: 'any' | 'built';
  /** Whether fleet finds the service by variables, by the profile `sandbox`, or not at all. */
  settings: 'environment' | 'profile' | 'none';
}

/** Creates a file in the folder of the transcript. */
export interface FileBlock {
  kind: 'file';
  line: number;
  name: string;
  content: string;
}

/** A request and the answer of the service `answers`. */
export interface Exchange {
  method: string;
  path: string;
  status: number;
  headers: { [name: string]: string };
  body: string;
}

/** Replaces the answers of the service `answers`. */
export interface AnswersBlock {
  kind: 'answers';
  line: number;
  exchanges: Exchange[];
}

export type StepAction =
  | { kind: 'run'; command: string; stdin: string | undefined }
  /** Shows further output of the command that runs in the terminal. */
  | { kind: 'continue' }
  | { kind: 'signal'; signal: NodeJS.Signals }
  /** Types a text and presses Enter. */
  | { kind: 'type'; text: string }
  /** Presses one key: a character, or a name such as `Enter`. */
  | { kind: 'key'; key: string };

/** A line of input and the expected output below it. */
export interface Step {
  kind: 'step';
  /** The number of the first line of the input, from 1. */
  line: number;
  /** The name of the terminal; empty for the default terminal. */
  terminal: string;
  /** The size of the terminal; undefined when stdout and stderr are pipes. */
  size: { columns: number; rows: number } | undefined;
  action: StepAction;
  /** The index of the first line of the expected output in `Transcript.lines`. */
  outputAt: number;
  expected: string[];
}

export interface Transcript {
  path: string;
  title: string;
  header: TranscriptHeader;
  /** All lines of the file. */
  lines: string[];
  parts: (FileBlock | AnswersBlock | Step)[];
}

/** A mistake in a transcript, with the number of its line. */
export class TranscriptError extends Error {
  constructor(path: string, line: number, message: string) {
    super(`${path}:${line}: ${message}`);
    this.name = 'TranscriptError';
  }
}

const FENCE = /^(`{3,})(\S*)(?: (.*))?$/;
const DEFAULTS: TranscriptHeader = {
  service: 'none',
  clock: 'still',
  program: 'any',
  settings: 'environment',
};

/** Parses the text of a transcript. Throws a TranscriptError for each mistake in the format. */
export function parseTranscript(path: string, text: string): Transcript {
  const lines = text.replace(/\n$/, '').split('\n');
  const fail = failIn(path);
  const { header, end } = readHeader(lines, fail);
  const titleAt = lines.findIndex((line, index) => index >= end && line.startsWith('# '));
  if (titleAt === -1) fail(end, 'a transcript needs a title: a line that begins with "# "');
  const title = (lines[titleAt] ?? '').slice(2).trim();
  return { path, title, header, lines, parts: readParts(lines, end, fail) };
}

/** Returns the commands of a README or a guide, which has no header. */
export function parseSessions(path: string, text: string): Step[] {
  return readParts(text.split('\n'), 0, failIn(path)).filter((part) => part.kind === 'step');
}

function failIn(path: string): Fail {
  return (index, message) => {
    throw new TranscriptError(path, index + 1, message);
  };
}

function readParts(lines: readonly string[], start: number, fail: Fail): Transcript['parts'] {
  const parts: Transcript['parts'] = [];
  for (let index = start; index < lines.length; index += 1) {
    const fence = FENCE.exec(lines[index] ?? '');
    if (fence === null) continue;
    const [, ticks = '', language = '', info = ''] = fence;
    const close = lines.indexOf(ticks, index + 1);
    if (close === -1) fail(index, 'this block has no end');
    const body = lines.slice(index + 1, close);
    const file = /(?:^| )file=(\S+)/.exec(info)?.[1];
    if (file !== undefined) {
      if (basename(file) !== file) fail(index, 'the name of a file must not contain a folder');
      requireName(lines, index, file, fail);
      parts.push({ kind: 'file', line: index + 1, name: file, content: textOf(body) });
    } else if (language === 'http') {
      const exchanges = readExchanges(body, index + 1, fail);
      parts.push({ kind: 'answers', line: index + 1, exchanges });
    } else if (language === 'console') {
      const terminals = parts.flatMap((part) => (part.kind === 'step' ? part.terminal : []));
      parts.push(...readSteps(body, index + 1, { size: readSize(info), terminals }, fail));
    }
    index = close;
  }
  return parts;
}

type Fail = (index: number, message: string) => never;

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

function readHeader(lines: readonly string[], fail: Fail) {
  if (lines[0] !== '---') return fail(0, 'a transcript begins with "---" and its service');
  const end = lines.indexOf('---', 1);
  if (end === -1) return fail(0, 'the header has no second "---"');
  const given = parseYaml(lines.slice(1, end).join('\n')) as Partial<TranscriptHeader> | null;
  const unknown = Object.keys(given ?? {}).find((name) => !Object.hasOwn(DEFAULTS, name));
  if (unknown !== undefined) return fail(0, `the header has an unknown field: ${unknown}`);
  if (given?.service === undefined) return fail(0, 'the header must name the service');
  return { header: { ...DEFAULTS, ...given }, end: end + 1 };
}

/** GitHub does not show the name of a file block, so the text before the block must name it. */
function requireName(lines: readonly string[], index: number, name: string, fail: Fail): void {
  let before = index - 1;
  while (before > 0 && lines[before]?.trim() === '') before -= 1;
  const start = lines.lastIndexOf('', before);
  if (!lines.slice(start, index).join(' ').includes(`\`${name}\``))
    fail(index, `the text before this block must name the file: \`${name}\``);
}

function readExchanges(body: readonly string[], first: number, fail: Fail): Exchange[] {
  const exchanges: Exchange[] = [];
  for (const [index, line] of body.entries()) {
    const request = /^> ([A-Z]+) (\S+)$/.exec(line);
    const status = /^< (\d{3})$/.exec(line);
    const header = /^< ([\w-]+): (.*)$/.exec(line);
    const last = exchanges.at(-1);
    if (request !== null) {
      const [, method = '', path = ''] = request;
      exchanges.push({ method, path, status: 200, headers: {}, body: '' });
    } else if (last === undefined) {
      if (line !== '') fail(first + index, 'expected a request, such as "> GET /bicycles/"');
    } else if (status !== null) last.status = Number(status[1]);
    else if (header !== null) last.headers[(header[1] ?? '').toLowerCase()] = header[2] ?? '';
    else if (line !== '') last.body += `${line}\n`;
  }
  return exchanges;
}

/**
 * `$ …`, `[watch] $ …`, `[watch] ^C`, `[watch] kill -9`, `[watch] < text`, `[watch] press q` and
 * `[watch]`.
 */
const INPUT =
  /^(?:\[([\w-]+)\](?:$| (?=\$ |\^C$|kill -|< |press )))?(?:\$ (.*)|(\^C)|kill -(\w+)|< (.*)|press (\S+))?$/;

/** Whether a line of output would be read as input, stderr, an exit code or hidden lines. */
export function needsEscape(line: string): boolean {
  return /^(?:!(?: |$)|exit \d+$|\\|… \d+ more lines?$)/.test(line) || isInput(line);
}

function isInput(line: string): boolean {
  return line !== '' && INPUT.test(line) && /^(?:\$ |\[)/.test(line);
}

/** `console terminal` or `console terminal=80x24`. */
function readSize(info: string): Step['size'] {
  const match = /(?:^| )terminal(?:=(\d+)x(\d+))?(?: |$)/.exec(info);
  if (match === null) return undefined;
  const [, columns = '100', rows = '40'] = match;
  return { columns: Number(columns), rows: Number(rows) };
}

/** The terminal of a block, and the names of the terminals in the blocks before it. */
interface BlockContext {
  size: Step['size'];
  terminals: readonly string[];
}

const INPUTS = '"$ …", "^C", "kill -9", "< …" or "press …"';

function readSteps(
  body: readonly string[],
  first: number,
  { size, terminals }: BlockContext,
  fail: Fail,
): Step[] {
  const steps: Step[] = [];
  const isTerminal = (name: string) =>
    terminals.includes(name) || steps.some(({ terminal }) => terminal === name);
  let index = 0;
  while (index < body.length) {
    const line = body[index] ?? '';
    const last = steps.at(-1);
    if (!isInput(line)) {
      if (last === undefined) return fail(first + index, 'a session begins with "$ " or "[NAME]"');
      const name = /^\[([\w-]+)\] /.exec(line)?.[1];
      if (name !== undefined && isTerminal(name))
        return fail(first + index, `after "[${name}] " must come ${INPUTS}; "\\" marks output`);
      last.expected.push(line);
      index += 1;
      continue;
    }
    const [, terminal = '', command, interrupt, signal, typed, key] = INPUT.exec(line) ?? [];
    const step: Step = {
      kind: 'step',
      line: first + index + 1,
      terminal,
      size,
      action: { kind: 'continue' },
      outputAt: 0,
      expected: [],
    };
    index += 1;
    if (command !== undefined) {
      const { text, stdin, count } = readCommand(command, body.slice(index), () =>
        fail(first + index - 1, 'the command does not end'),
      );
      step.action = { kind: 'run', command: text, stdin };
      index += count;
    } else if (interrupt !== undefined) step.action = { kind: 'signal', signal: 'SIGINT' };
    else if (signal !== undefined) step.action = { kind: 'signal', signal: signalOf(signal) };
    else if (typed !== undefined) step.action = { kind: 'type', text: typed };
    else if (key !== undefined) step.action = { kind: 'key', key };
    step.outputAt = first + index;
    steps.push(step);
  }
  return steps;
}

function signalOf(word: string): NodeJS.Signals {
  if (word === '9') return 'SIGKILL';
  return `SIG${word}` as NodeJS.Signals;
}

/**
 * Reads the lines of a command that a shell would show after its second prompt: `> …`. They follow
 * an open quote, a `\` at the end of a line, and `<<'EOF'`.
 */
function readCommand(firstLine: string, rest: readonly string[], onOpen: () => never) {
  let text = firstLine;
  let count = 0;
  const next = () => {
    const line = rest[count] ?? '';
    if (line !== '>' && !line.startsWith('> ')) return onOpen();
    count += 1;
    return line.slice(2);
  };
  while (isOpen(text))
    text = text.endsWith('\\') ? text.slice(0, -1) + next() : `${text}\n${next()}`;
  const end = /<<'?(\w+)'?/.exec(text)?.[1];
  if (end === undefined) return { text, stdin: undefined, count };
  const body: string[] = [];
  for (let line = next(); line !== end; line = next()) body.push(line);
  return { text, stdin: textOf(body), count };
}

function isOpen(text: string): boolean {
  if (text.endsWith('\\')) return true;
  return /['"]/.test(text.replace(/\\.|'[^']*'|"(?:[^"\\]|\\.)*"/gs, ''));
}
