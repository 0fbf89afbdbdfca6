// Runs a transcript, and compares or rewrites its expected output.

import { readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { saveProfile, saveToken, useProfile } from '../../../src/settings/store.js';
import { parseDuration } from '../../../src/terminal/time.js';
import { preload } from '../program.js';
import { eventually } from '../running.js';
import { makeHome } from '../shell.js';
import { explainForms, FORMS, insertValues, unknownPlaceholders, type Values } from './forms.js';
import {
  needsEscape,
  parseTranscript,
  type Step,
  type StepAction,
  type Transcript,
  TranscriptError,
  type TranscriptHeader,
} from './parse.js';
import { readPlainLine } from './plain-line.js';
import { type Receiver, startReceiver } from './receiver.js';
import { countLines, reconcile } from './reconcile.js';
import type { Screen } from './screen.js';
import { makeToken, type Service, startService, steer } from './services.js';
import { type RunningCommand, startCommand } from './terminals.js';

/** A Monday. Transcripts show dates and ages, which must be the same in each run. */
const START = Date.UTC(2026, 5, 1, 12);

/** `npm run transcripts -- --update` sets this variable. */
const isUpdate = process.env['FLEET_TRANSCRIPTS'] === 'update';

/** In an update, how long a command that continues to run must be quiet before its output counts. */
const QUIET_MS = 1_000;
const QUIET_TURNS = 5;
/** The program needs longer for its first output, because it has to start. */
const FIRST_TURNS = 15;

/** Defines the test of a transcript. Vitest calls it for each .md file; see plugin.ts. */
export function testTranscript(path: string): void {
  const file = fileURLToPath(new URL(path, ROOT));
  const text = readFileSync(file, 'utf8');
  const transcript = parseTranscript(path, text);
  test(transcript.title, async () => {
    const updated = await runTranscript(transcript);
    if (!isUpdate || updated === text) return;
    writeFileSync(file, updated);
    process.stderr.write(`updated ${path}\n`);
    // A second run finds the values that differ between runs.
    await runTranscript(parseTranscript(path, updated), 'check').catch((error: unknown) => {
      throw new Error(VARIES, { cause: error });
    });
  });
}

const VARIES =
  'a second run printed other output than the update has written: replace the values that differ by placeholders';

const ROOT = new URL('../../../', import.meta.url);
const SET_DATE = fileURLToPath(new URL('set-date.js', import.meta.url));

type Mode = 'check' | 'update';

export interface Scene {
  service: Service;
  /** Whether every line runs with the built program. */
  isBuilt: boolean;
  folder: string;
  env: NodeJS.ProcessEnv;
  now: () => number;
  /** Sets the clock forward. Guides do not use it. */
  forward?: (milliseconds: number) => void;
  values: Values;
  /** The running commands of the terminals with a name, and how much of their output was shown. */
  running: Map<string, Shown>;
  /** How many requests `service requests` has shown. */
  requestsShown: number;
  /**
   * How many requests `service wait` has passed, or were received before the last command of a
   * terminal with a name.
   */
  requestsAwaited: number;
  /** The server that receives webhooks, if the transcript mentions it. */
  receiver: Receiver | undefined;
  /** How many lines `receiver requests` has shown. */
  received: number;
}

interface Shown {
  command: RunningCommand;
  stdout: number;
  stderr: number;
  /** The number of lines of the screen that do not change any more. */
  screen: number;
  /** Whether an update writes all output of the command for the first time. */
  isNew: boolean;
}

/**
 * Runs all steps. Returns the text of the file with the real output. Unless the run is an update, it
 * throws at the first step whose output differs.
 */
export async function runTranscript(
  transcript: Transcript,
  mode: Mode = isUpdate ? 'update' : 'check',
): Promise<string> {
  const { header, path, parts } = transcript;
  const startedAt = Date.now();
  const isRunning = header.clock === 'running';
  let aheadMs = 0;
  const now = () => START + aheadMs + (isRunning ? Date.now() - startedAt : 0);
  const service = await startService(header.service, now);
  const previousFolder = process.cwd();
  const scene = await openScene(header, service, now);
  scene.forward = (milliseconds) => {
    aheadMs += milliseconds;
  };
  if (transcript.lines.some((line) => line.includes('<receiver>'))) await openReceiver(scene);
  // Plain lines run in this process and may write files to the current folder.
  process.chdir(scene.folder);
  const outputs = new Map<Step, string[]>();
  try {
    for (const [index, part] of parts.entries()) {
      if (part.kind === 'file')
        await writeFile(join(scene.folder, part.name), insertValues(part.content, scene.values));
      else if (part.kind === 'answers') {
        if (service.setAnswers === undefined)
          throw new TranscriptError(path, part.line, 'only the service `answers` has http blocks');
        service.setAnswers(
          part.exchanges.map((exchange) => ({
            ...exchange,
            body: insertValues(exchange.body, scene.values),
          })),
        );
      } else {
        const actual = await runStep(scene, part, parts.slice(index + 1), mode).catch(
          (error: unknown) => {
            throw new TranscriptError(path, part.line, String(error));
          },
        );
        if (mode === 'update') refuseUnknownForms(transcript, part, actual, scene.values);
        const shown = reconcile(part.expected, actual, scene.values);
        outputs.set(part, shown);
        if (mode === 'check')
          expect(
            shown.join('\n'),
            describeStep(transcript, part, { shown, actual, values: scene.values }),
          ).toBe(part.expected.join('\n'));
      }
    }
  } finally {
    for (const { command } of scene.running.values())
      if (command.code() === undefined) command.signal('SIGKILL');
    process.chdir(previousFolder);
    await service.close();
    await scene.receiver?.close();
  }
  return withOutputs(transcript, outputs);
}

/**
 * Describes why a step fails: the first line of output that differs, the command, the placeholders
 * that do not fit, and how to accept the new output.
 */
function describeStep(
  { path, lines }: Transcript,
  { line, outputAt, expected }: Step,
  { shown, actual, values }: { shown: string[]; actual: string[]; values: Values },
): string {
  const index = expected.findIndex((text, at) => text !== shown[at]);
  const differing = expected[index] ?? '';
  const differs = outputAt + 1 + (index === -1 ? expected.length : index);
  return [
    `${path}:${differs}: the output differs after: ${lines[line - 1]}`,
    ...unknownPlaceholders(differing, actual, values).map(
      (text) => `${text} is not a placeholder. ${namesOfPlaceholders(values)}`,
    ),
    ...explainForms(differing, actual, values),
    `To write the new output into the transcript: npm run transcripts -- --update ${path}`,
    '',
  ].join('\n');
}

function namesOfPlaceholders(values: Values): string {
  const variables = [...values.keys()].filter((name) => !name.includes(' '));
  return `Forms: ${Object.keys(FORMS).join(', ')}. Variables: ${variables.join(', ')}`;
}

/**
 * Refuses to update a step that names an unknown form, such as `<hsh run>`. Otherwise the update
 * would write the current value into the transcript, and the next run would fail.
 */
function refuseUnknownForms(
  { path }: Transcript,
  { expected, outputAt }: Step,
  actual: readonly string[],
  values: Values,
): void {
  for (const [index, line] of expected.entries()) {
    const unknown = unknownPlaceholders(line, actual, values).find((text) => text.includes(' '));
    if (unknown !== undefined)
      throw new TranscriptError(
        path,
        outputAt + 1 + index,
        `${unknown} is not a placeholder. ${namesOfPlaceholders(values)}`,
      );
  }
}

/** Prepares a folder and the environment for the commands of a transcript or a guide. */
export async function openScene(
  { clock, settings, program }: Omit<TranscriptHeader, 'service'>,
  service: Service,
  now: () => number,
): Promise<Scene> {
  const home = await makeHome({
    TZ: 'UTC',
    ...preload(SET_DATE),
    FLEET_TRANSCRIPT_DATE: String(now()),
    ...(clock === 'running' ? { FLEET_TRANSCRIPT_RUNS: '1' } : {}),
  });
  const { FLEET_BASE_URL: url, FLEET_SSE_URL: push, FLEET_TOKEN: token } = service.env;
  if (settings === 'profile') await saveSandboxProfile(join(home.folder, 'settings'), service);
  const values: Values = new Map([['home', home.folder]]);
  if (url !== undefined) values.set('service', url);
  if (push !== undefined) values.set('push', push);
  if (token !== undefined) values.set('token', token);
  return {
    isBuilt: program === 'built',
    service,
    folder: home.folder,
    env: settings === 'environment' ? { ...home.env, ...service.env } : home.env,
    now,
    values,
    running: new Map(),
    requestsShown: 0,
    requestsAwaited: 0,
    receiver: undefined,
    received: 0,
  };
}

/** Starts the server for webhooks. */
async function openReceiver(scene: Scene): Promise<void> {
  scene.receiver = await startReceiver();
  scene.values.set('receiver', scene.receiver.url);
}

/** Saves and selects the profile `sandbox`, as `fleet sandbox` does. */
async function saveSandboxProfile(folder: string, { sandbox, env }: Service): Promise<void> {
  const place = {
    folder,
    configPath: join(folder, 'config.json'),
    credentialsPath: join(folder, 'credentials.json'),
  };
  await saveProfile(place, 'sandbox', {
    base_url: env['FLEET_BASE_URL'],
    sse_url: env['FLEET_SSE_URL'],
    organization: sandbox?.organizations[0]?.uuid,
  });
  await saveToken(place, 'sandbox', env['FLEET_TOKEN'] ?? '');
  await useProfile(place, 'sandbox');
}

/** Returns the lines of output as the transcript shows them. */
async function runStep(
  scene: Scene,
  step: Step,
  later: Transcript['parts'],
  mode: Mode,
): Promise<string[]> {
  const { action, terminal } = step;
  const next = later.find(
    (part): part is Step => part.kind === 'step' && part.terminal === terminal,
  );
  const goesOn = terminal !== '' && next !== undefined && next.action.kind !== 'run';
  if (action.kind === 'run') {
    const own = await runOwnCommand(scene, action.command, { step, mode });
    if (own !== undefined) return own;
    if (terminal !== '') scene.requestsAwaited = scene.service.sandbox?.requests.length ?? 0;
    const command = startCommand(scene, insertValues(action.command, scene.values), {
      stdin: action.stdin && insertValues(action.stdin, scene.values),
      isBuilt: scene.isBuilt || needsProcess(later, step),
      terminal: step.size,
    });
    const isNew = mode === 'update' && stepsOfCommand(step, later).every(hasNoOutput);
    scene.running.set(terminal, { command, stdout: 0, stderr: 0, screen: 0, isNew });
  }
  const shown = scene.running.get(terminal);
  if (shown === undefined)
    throw new Error(`line ${step.line}: no command runs in the terminal ${terminal}`);
  await perform(shown.command, action, scene.values);
  const options = { step, goesOn, mode, scene, isNew: shown.isNew };
  if (shown.command.screen !== undefined)
    return await showScreen(shown, shown.command.screen, options);
  return goesOn ? await showPart(shown, options) : await showRest(shown);
}

const KEYS: { readonly [name: string]: string } = {
  Enter: '\r',
  Escape: '\u001b',
  Space: ' ',
  Tab: '\t',
  Up: '\u001b[A',
  Down: '\u001b[B',
};

async function perform(command: RunningCommand, action: StepAction, values: Values): Promise<void> {
  if (action.kind === 'type') command.press(`${insertValues(action.text, values)}\r`);
  if (action.kind === 'key') command.press(KEYS[action.key] ?? action.key);
  if (action.kind !== 'signal') return;
  if (command.screen !== undefined && action.signal === 'SIGINT') command.press(CTRL_C);
  else command.signal(action.signal);
}

const CTRL_C = '\u0003';

/** Returns the step that starts a command, and those that continue it. */
function stepsOfCommand(step: Step, later: Transcript['parts']): Step[] {
  const steps = [step];
  for (const part of later) {
    if (part.kind !== 'step' || part.terminal !== step.terminal) continue;
    if (part.action.kind === 'run') break;
    steps.push(part);
  }
  return steps;
}

function hasNoOutput({ expected }: Step): boolean {
  return expected.length === 0;
}

/** Whether the command needs a process of its own: it is killed, or keys are pressed. */
function needsProcess(later: Transcript['parts'], step: Step): boolean {
  return stepsOfCommand(step, later).some(({ action }) => {
    if (action.kind === 'type' || action.kind === 'key') return true;
    if (action.kind !== 'signal') return false;
    return step.size !== undefined || action.signal !== 'SIGINT';
  });
}

/** Runs the commands that belong to the transcript: `export`, `clock`, `service` and `receiver`. */
async function runOwnCommand(
  scene: Scene,
  command: string,
  { step, mode }: { step: Step; mode: Mode },
): Promise<string[] | undefined> {
  const [plain, ...others] = readPlainLine(insertValues(command, scene.values)) ?? [];
  if (plain === undefined || others.length > 0) {
    if (/^(?:export|clock|service|receiver) /.test(command))
      throw new Error(`quote the words of: ${command}`);
    return undefined;
  }
  const [name, ...words] = plain.words;
  if (name === 'export') {
    for (const word of words) {
      const at = word.indexOf('=');
      scene.env = { ...scene.env, [word.slice(0, at)]: word.slice(at + 1) };
    }
    return [];
  }
  if (name === 'clock') {
    setClockForward(scene, words);
    return [];
  }
  if (name === 'receiver') return await runReceiver(scene, words, { step, mode });
  if (name !== 'service') return undefined;
  if (words[0] === 'wait') {
    await waitForAnswer(scene, words[1] ?? '');
    return [];
  }
  if (words[0] === 'token') return [await makeToken(scene.service, scene.now(), words.slice(1))];
  if (words[0] !== 'requests') {
    steer(scene.service, words);
    return [];
  }
  return showRequests(scene, words.slice(1));
}

/** The words of `service requests` that are not part of a request. */
const REQUEST_OPTIONS = ['sorted', 'tokens'];

function showRequests(scene: Scene, words: readonly string[]): string[] {
  const { service, requestsShown } = scene;
  const requests = service.requests();
  scene.requestsShown = requests.length;
  const tokens = service.authorizations();
  const texts = words.filter((word) => !REQUEST_OPTIONS.includes(word));
  const chosen = requests.flatMap((request, index) => {
    if (index < requestsShown) return [];
    if (!texts.every((text) => request.includes(text))) return [];
    return words.includes('tokens') ? `${request} (${tokens[index] ?? 'no token'})` : request;
  });
  return words.includes('sorted') ? chosen.sort() : chosen;
}

/** Runs `clock forward 20m`. */
function setClockForward(scene: Scene, [verb, duration = '']: readonly string[]): void {
  if (verb !== 'forward') throw new Error(`unknown: clock ${verb}`);
  scene.forward?.(parseDuration(duration));
  scene.env = { ...scene.env, FLEET_TRANSCRIPT_DATE: String(scene.now()) };
}

interface PartOptions {
  step: Step;
  mode: Mode;
  scene: Scene;
  /** Whether the command continues to run after the step. */
  goesOn: boolean;
  /** Whether no step of this command has output yet, because the transcript is being written. */
  isNew: boolean;
}

/** Runs `receiver answers 503 200` and `receiver requests`, which waits for the expected lines. */
async function runReceiver(
  scene: Scene,
  [verb, ...words]: readonly string[],
  { step, mode }: { step: Step; mode: Mode },
): Promise<string[]> {
  const { receiver } = scene;
  if (receiver === undefined) throw new Error('no command uses <receiver>');
  if (verb === 'answers') {
    receiver.setAnswers(words.map(Number));
    return [];
  }
  const fresh = () => linesOf(receiver.requests().slice(scene.received), []);
  const wanted = countLines(step.expected).stdout;
  const updateUntil = performance.now() + QUIET_TURNS * QUIET_MS;
  await eventually(
    () => fresh().length >= wanted || (mode === 'update' && performance.now() > updateUntil),
  );
  if (mode === 'update' && wanted === 0)
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  await letCommandsProcess();
  const lines = fresh();
  scene.received += lines.length;
  return lines;
}

/**
 * Turns of the event loop that commands and servers share. A command that gets this many turns has
 * processed an answer, also on a slow machine.
 */
const TURNS_TO_PROCESS = 100;

async function letCommandsProcess(): Promise<void> {
  for (let turn = 0; turn < TURNS_TO_PROCESS; turn += 1)
    await new Promise((resolve) => setTimeout(resolve, 2));
}

/**
 * Waits until the service has answered another request whose path begins with this text, and the
 * command had time to process the answer. Requests before the last command of a terminal with a name
 * do not count.
 */
async function waitForAnswer(scene: Scene, path: string): Promise<void> {
  const answered = () =>
    scene.service.sandbox?.requests.findIndex(
      ({ url, status }, index) =>
        index >= scene.requestsAwaited && url.startsWith(path) && status !== 0,
    ) ?? -1;
  await eventually(
    () => answered() !== -1,
    () => `no request begins with ${path}`,
  );
  scene.requestsAwaited = answered() + 1;
  await letCommandsProcess();
}

/** Waits until a command that continues to run has printed the expected number of lines. */
async function showPart(
  shown: Shown,
  { step, mode, scene, isNew }: PartOptions,
): Promise<string[]> {
  const wanted = countLines(step.expected);
  const linesAfter = (text: string, from: number) => text.slice(from).split('\n').slice(0, -1);
  const stdout = () => linesAfter(shown.command.stdout(), shown.stdout);
  const stderr = () => linesAfter(shown.command.stderr(), shown.stderr);
  const hasAll = () => stdout().length >= wanted.stdout && stderr().length >= wanted.stderr;
  const take = (out: string[], err: string[]) => {
    shown.stdout += sizeOf(out);
    shown.stderr += sizeOf(err);
    return linesOf(out, err);
  };
  const takeWanted = () => take(stdout().slice(0, wanted.stdout), stderr().slice(0, wanted.stderr));
  if (mode === 'check') {
    await shown.command.until(
      hasAll,
      () =>
        `the command must print ${wanted.stdout} lines on stdout (now ${stdout().length}) and ${wanted.stderr} on stderr (now ${stderr().length})`,
    );
    return takeWanted();
  }
  if (!isNew && (await happens(shown.command, hasAll))) {
    const real = linesOf(stdout().slice(0, wanted.stdout), stderr().slice(0, wanted.stderr));
    if (isAsExpected(step, real, scene)) return takeWanted();
  }
  await untilQuiet(shown);
  return take(stdout(), stderr());
}

function isAsExpected({ expected }: Step, actual: readonly string[], { values }: Scene): boolean {
  return reconcile(expected, actual, new Map(values)).join('\n') === expected.join('\n');
}

/** In an update, how long the runner waits for the old output before it takes other output. */
const OLD_OUTPUT_MS = 10_000;
const LOOK_EVERY_MS = 30;

/** Returns whether the condition becomes true, or the command ends, within some time. */
async function happens(command: RunningCommand, condition: () => boolean): Promise<boolean> {
  for (let leftMs = OLD_OUTPUT_MS; leftMs > 0; leftMs -= LOOK_EVERY_MS) {
    if (condition() || command.code() !== undefined) return true;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return false;
}

/**
 * Waits until the screen shows the expected lines, or until the command ends. The line of the cursor
 * may change, so that the next step shows it again.
 */
async function showScreen(
  shown: Shown,
  screen: Screen,
  { step, goesOn, mode, scene, isNew }: PartOptions,
): Promise<string[]> {
  const { command } = shown;
  if (!goesOn) await command.until(() => false);
  const limitMs = mode === 'check' ? SCREEN_LIMIT_MS : OLD_OUTPUT_MS;
  for (let leftMs = isNew ? 0 : limitMs; ; leftMs -= LOOK_EVERY_MS) {
    if (leftMs <= 0 && mode === 'update' && goesOn) await untilQuiet(shown);
    const code = command.code();
    const { lines, cursor, isAlternate } = await screen.read();
    const fresh = linesOf(lines.slice(isAlternate ? 0 : shown.screen), []);
    const actual = goesOn || code === 0 ? fresh : [...fresh, `exit ${code}`];
    if (code !== undefined || leftMs <= 0 || isAsExpected(step, actual, scene)) {
      if (!goesOn) screen.close();
      else if (!isAlternate) shown.screen = Math.min(cursor, lines.length);
      return actual;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

const SCREEN_LIMIT_MS = 120_000;

/** In an update: waits for output of a command, and then until it prints no more. */
async function untilQuiet({ command, stdout, stderr }: Shown): Promise<void> {
  const sizeNow = () => command.stdout().length + command.stderr().length;
  let size = -1;
  const turns = stdout + stderr === 0 ? FIRST_TURNS : QUIET_TURNS;
  for (let turn = 0; turn < turns; turn += 1) {
    if (size === sizeNow() && size > stdout + stderr) return;
    size = sizeNow();
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  }
}

const sizeOf = (lines: readonly string[]) => lines.reduce((sum, line) => sum + line.length + 1, 0);

/** Waits for the end of the command, and returns the output that was not shown yet. */
async function showRest(shown: Shown): Promise<string[]> {
  const { command } = shown;
  await command.until(() => false);
  const code = command.code() ?? 0;
  const lines = linesOf(
    splitLines(command.stdout().slice(shown.stdout)),
    splitLines(command.stderr().slice(shown.stderr)),
  );
  return code === 0 ? lines : [...lines, `exit ${code}`];
}

const NO_NEWLINE = '\\ no newline at the end';

function splitLines(text: string): string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : [...lines, NO_NEWLINE];
}

/** Returns the lines of stdout, then those of stderr with `! `. */
function linesOf(stdout: readonly string[], stderr: readonly string[]): string[] {
  return [
    ...stdout.map((line) => (line !== NO_NEWLINE && needsEscape(line) ? `\\${line}` : line)),
    ...stderr.map((line) => (line === '' ? '!' : `! ${line}`)),
  ];
}

function withOutputs({ lines }: Transcript, outputs: ReadonlyMap<Step, string[]>): string {
  const result = [...lines];
  const fromLast = [...outputs].sort(([a], [b]) => b.outputAt - a.outputAt);
  for (const [step, shown] of fromLast)
    result.splice(step.outputAt, step.expected.length, ...shown);
  return `${result.join('\n')}\n`;
}
