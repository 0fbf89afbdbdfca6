// Runs a command that follows a fleet under random failures of a service, its token, its reader and
// its clock, with kills and suspensions, and compares its result with the real events.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LONGEST_ASKED_PAUSE_MS } from '../../src/http/retry.js';
import type { Life, Luck, Mood, Service, Traits } from './chaos-service.js';
import { ORGANIZATION, openService } from './chaos-service.js';
import { newFolder } from './folder.js';
import { openLuck } from './luck.js';
import { PROGRAM_ARGS, PROGRAM_FILE, preload } from './program.js';

const FAST_LIFE = fileURLToPath(new URL('./fast-life.js', import.meta.url));
/**
 * How soon the program must end in real time; two seconds (cli.md section 4, promise 8), and more
 * on a busy machine.
 */
const END_LIMIT_MS = 30_000;

/** A command that follows the fleet, and the checks of its result. */
export interface Consumer {
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly traits: Traits;
  /** It is killed sometimes and restarted at once, as by systemd. */
  readonly isKilled: boolean;
  /** Its clock jumps, unless its gaps are judged by that clock. */
  readonly hasSteps: boolean;
  /** The signal that ends it and the expected exit code. */
  readonly end: readonly [signal: NodeJS.Signals, code: number];
  /**
   * An alternative end, for a machine that is too busy for the accelerated clock: the exit code and
   * the final message. After its terminal was closed, the message cannot be read.
   */
  readonly excuse?: { readonly code: number; readonly message: string };
  /** Whether it runs in a terminal, which is closed sometimes. Needs `isKilled` and `script`. */
  readonly hasTerminal?: boolean;
  /** Failures that only this command knows, by name. */
  readonly troubles?: { readonly [kind: string]: () => void };
  /** Called before a restart after a kill. */
  afterDeath?(): Promise<unknown>;
  takeLine(line: string, of: 'stdout' | 'stderr'): void;
  /** Called before the first failure. */
  begin?(world: World): Promise<void>;
  /** Called after the last failure; resolves when all changes should have been reported. */
  settle(world: World): Promise<void>;
  /** The detected errors. */
  judge(world: World): Promise<string[]>;
}

export interface World {
  readonly service: Service;
  readonly life: Life;
  readonly program: Program;
  readonly stderr: string;
  /** How long program and test have waited for a processor, in real milliseconds. */
  readonly waitMs: number;
}

export interface Trial {
  readonly seed: number;
  /** The time with changes and failures, on the clock of the program. */
  readonly durationMs: number;
}

export interface Verdict {
  readonly faults: string[];
  readonly changes: number;
  readonly kills: number;
  readonly troubles: { [kind: string]: number };
  readonly peakMb: number;
  readonly endMs: number;
  readonly stderr: string;
}

function onLines(stream: NodeJS.ReadableStream | null, take: (line: string) => void): void {
  let rest = '';
  stream?.setEncoding('utf8');
  stream?.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  });
}

export interface Program {
  kill(): void;
  /** Closes its terminal. */
  hangUp(): void;
  halt(): void;
  /** Stops reading its stdout. */
  pause(): void;
  /** Ends a suspension or a pause of reading. */
  proceed(): void;
  stop(signal: NodeJS.Signals): Promise<number | null>;
  pid(): number | undefined;
  /** The exit code of a program that ended by itself and is not restarted. */
  code(): number | null | undefined;
  kills(): number;
  /** The times of its suspensions, by its clock. */
  readonly halts: readonly { fromMs: number; toMs: number }[];
  /** The exit codes after its terminal was closed. */
  readonly hangUpCodes: readonly (number | null)[];
}

/** One run of the program. */
interface Run {
  readonly child: ChildProcess;
  pid(): number | undefined;
  signal(signal: NodeJS.Signals): void;
  /** Closes its terminal. Returns false without a terminal, or when it has only begun to start. */
  hangUp(): boolean;
  readonly ended: Promise<number | null>;
}

function startRun(args: readonly string[], env: NodeJS.ProcessEnv): Run {
  const child = spawn(PROGRAM_FILE, [...PROGRAM_ARGS, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return {
    child,
    pid: () => child.pid,
    signal: (signal) => void child.kill(signal),
    hangUp: () => false,
    ended: new Promise((resolve) => child.on('close', resolve)),
  };
}

/** Starts it in a terminal of its own, below a shell that records its exit code. */
function startInTerminal(args: readonly string[], env: NodeJS.ProcessEnv): Run {
  const folder = newFolder();
  const [pidFile, codeFile] = [join(folder, 'pid'), join(folder, 'code')];
  const words = [PROGRAM_FILE, ...PROGRAM_ARGS, ...args].map((word) => `'${word}'`).join(' ');
  writeFileSync(join(folder, 'inner.sh'), `echo $$ > ${pidFile}\nexec ${words}\n`);
  // Like an interactive shell, it passes SIGHUP on and survives the terminal.
  const outer = [
    "trap 'kill -HUP $child' HUP",
    'exec 3<&0',
    `sh ${folder}/inner.sh <&3 &`,
    'child=$!',
    'wait $child',
    'code=$?',
    'while kill -0 $child; do wait $child; code=$?; done',
    `echo $code > ${codeFile}.new`,
    `mv ${codeFile}.new ${codeFile}`,
    'exit $code',
  ];
  writeFileSync(join(folder, 'outer.sh'), outer.join('\n'));
  const child = spawn('script', ['-qec', `exec sh ${folder}/outer.sh`, '/dev/null'], {
    env: { ...env, SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const pid = () => (existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : undefined);
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(pid() ?? child.pid ?? 0, name);
    } catch {
      // It has just ended.
    }
  };
  const waitForCode = async () => {
    const endAt = performance.now() + END_LIMIT_MS;
    while (!existsSync(codeFile) && performance.now() < endAt) await pause(20);
    if (existsSync(codeFile)) return Number(readFileSync(codeFile, 'utf8'));
    signal('SIGKILL');
    return null;
  };
  return {
    child,
    pid,
    signal,
    hangUp: () => child.kill('SIGKILL') && existsSync(pidFile),
    ended: new Promise((resolve) => child.on('close', () => resolve(waitForCode()))),
  };
}

function startProgram(
  { args, isKilled, hasTerminal, afterDeath, takeLine }: Consumer,
  env: NodeJS.ProcessEnv,
  life: Life,
): Program {
  const halts: { fromMs: number; toMs: number }[] = [];
  const hangUpCodes: (number | null)[] = [];
  let haltedMs: number | undefined;
  let run: Run;
  let kills = 0;
  let hungUp: Run | undefined;
  let code: number | null | undefined;
  let onEnd: ((code: number | null) => void) | undefined;
  const takeEnd = (one: Run, ended: number | null) => {
    if (hungUp === one) hangUpCodes.push(ended);
    const end = () => {
      code = ended;
      onEnd?.(ended);
    };
    if (!isKilled || onEnd !== undefined) return end();
    const again = () => (onEnd === undefined ? start() : end());
    Promise.resolve(afterDeath?.()).then(again, again);
  };
  const start = () => {
    const one = (hasTerminal === true ? startInTerminal : startRun)(args, env);
    for (const of of ['stdout', 'stderr'] as const)
      onLines(one.child[of], (line) => takeLine(line, of));
    one.ended.then((ended) => takeEnd(one, ended));
    run = one;
  };
  start();
  return {
    kill() {
      kills++;
      hungUp = undefined;
      run.signal('SIGKILL');
    },
    hangUp() {
      kills++;
      if (run.hangUp()) hungUp = run;
    },
    halt() {
      haltedMs = life.now();
      run.signal('SIGSTOP');
    },
    pause: () => void run.child.stdout?.pause(),
    proceed() {
      run.child.stdout?.resume();
      run.signal('SIGCONT');
      if (haltedMs !== undefined) halts.push({ fromMs: haltedMs, toMs: life.now() });
      haltedMs = undefined;
    },
    stop(signal) {
      if (code !== undefined) return Promise.resolve(code);
      run.signal(signal);
      const limit = setTimeout(() => run.signal('SIGKILL'), END_LIMIT_MS);
      return new Promise((resolve) => {
        onEnd = (ended) => {
          clearTimeout(limit);
          resolve(ended);
        };
      });
    },
    pid: () => run.pid(),
    code: () => code,
    kills: () => kills,
    halts,
    hangUpCodes,
  };
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Runs one trial with the built program. */
export async function runChaos(
  { seed, durationMs }: Trial,
  speed: number,
  open: (luck: Luck, life: Life) => Consumer,
): Promise<Verdict> {
  const luck = openLuck(seed);
  const epochMs = Date.now();
  const startedAt = performance.now();
  const life: Life = {
    speed,
    epochMs,
    now: () => epochMs + (performance.now() - startedAt) * speed,
  };
  const consumer = open(luck, life);
  const service = await openService(luck, consumer.traits, life);
  const script = join(newFolder(), 'token.sh');
  const writeToken = (how: string) =>
    writeFileSync(script, `${how}\necho token-${service.mood.token}\n`);
  writeToken('');
  const steps = Array.from({ length: consumer.hasSteps ? luck.below(4) : 0 }, () => [
    luck.below(durationMs),
    (luck.chance(0.5) ? 1 : -1) * luck.below(7_200_000),
  ]);
  let stderr = '';
  const takeLine: Consumer['takeLine'] = (line, of) => {
    // A terminal shows both.
    if (of === 'stderr' || consumer.hasTerminal === true)
      stderr += `${Math.round(life.now() % 1e8)} ${line.slice(0, 300)}\n`;
    consumer.takeLine(line, of);
  };
  const env = {
    ...preload(FAST_LIFE),
    PATH: process.env['PATH'],
    FLEET_CONFIG_DIR: '/nonexistent/fleet-tests',
    FLEET_BASE_URL: service.url,
    FLEET_SSE_URL: service.url,
    FLEET_ORGANIZATION: ORGANIZATION,
    FLEET_TOKEN_COMMAND: `sh ${script}`,
    FLEET_TEST_SPEED: String(speed),
    FLEET_TEST_EPOCH: String(epochMs),
    FLEET_TEST_STEPS: JSON.stringify(steps.sort(([a = 0], [b = 0]) => a - b)),
    ...consumer.env,
  };
  const program = startProgram({ ...consumer, takeLine }, env, life);
  const ownWaitMs = waitOf('self');
  let waitMs = 0;
  const world: World = {
    ...{ service, life, program },
    get stderr() {
      return stderr;
    },
    get waitMs() {
      waitMs = Math.max(waitMs, waitOf(program.pid()) + waitOf('self') - ownWaitMs);
      return waitMs;
    },
  };
  const trouble = openTrouble({ luck, service, program, writeToken }, life, consumer);
  try {
    while (!service.isStanding() && program.code() === undefined) await pause(20);
    trouble.change();
    await consumer.begin?.(world);
    const endMs = life.now() + durationMs;
    trouble.begin(endMs);
    while (life.now() < endMs && program.code() === undefined) await pause(50);
    trouble.calm();
    await consumer.settle(world);
    const peakMb = peakOf(program.pid());
    const endAt = performance.now();
    const early = program.code();
    const [signal, wanted] = consumer.end;
    const code = await program.stop(signal);
    const faults = await consumer.judge(world);
    const { excuse } = consumer;
    for (const ended of program.hangUpCodes)
      if (ended !== 129 && ended !== excuse?.code)
        faults.push(`it ended with ${ended} after its terminal was closed`);
    const isExcused =
      excuse !== undefined && code === excuse.code && stderr.includes(excuse.message);
    if (early !== undefined) faults.push(`it ended with ${early} by itself`);
    else if (code !== wanted && !isExcused) faults.push(`${signal} ended it with ${code}`);
    return {
      faults: faults.map((fault) => `${JSON.stringify(consumer.traits)}: ${fault}`),
      changes: service.made.length,
      kills: program.kills(),
      troubles: trouble.counts,
      peakMb,
      endMs: performance.now() - endAt,
      stderr,
    };
  } finally {
    trouble.stop();
    if (program.code() === undefined) await program.stop('SIGKILL');
    await service.close();
  }
}

/** Schedules changes, heartbeats and one failure after the other, on the clock of the program. */
function openTrouble(target: Target, life: Life, consumer: Consumer) {
  const { luck, service, program, writeToken } = target;
  const counts: { [kind: string]: number } = {};
  const timers = new Set<NodeJS.Timeout>();
  let untilMs = Number.POSITIVE_INFINITY;
  const leftMs = () => untilMs - life.now();
  const after = (inMs: number, action: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      action();
    }, inMs / life.speed);
    timers.add(timer);
  };
  const change = () => {
    if (leftMs() < 0) return;
    service.change();
    if (luck.chance(0.01)) service.remove();
    after(luck.chance(0.5) ? luck.below(300) : luck.below(5_000), change);
  };
  const calm = () => {
    Object.assign(service.mood, { push: 'fine', list: 'fine', isTroubled: leftMs() > 0 });
    writeToken('');
    service.release();
    program.proceed();
  };
  const strike = () => {
    calm();
    if (leftMs() < 0) return;
    service.mood.mayAskMuch = leftMs() > 2 * LONGEST_ASKED_PAUSE_MS + 60_000;
    const kind = chooseTrouble(luck, consumer);
    counts[kind] = (counts[kind] ?? 0) + 1;
    const ownTrouble = consumer.troubles?.[kind];
    if (ownTrouble === undefined) makeTrouble(kind, target);
    else ownTrouble();
    after(2_000 + luck.below(40_000), strike);
  };
  const beat = () => {
    service.beat();
    after(5_000, beat);
  };
  beat();
  return {
    counts,
    change,
    calm,
    begin(endMs: number) {
      untilMs = endMs;
      after(15_000 + luck.below(10_000), strike);
    },
    stop() {
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

const TROUBLES = [
  ...['cut-end', 'cut-destroy', 'cut-mid', 'cut-mid', 'stall-dead', 'stall-late', 'noise', 'noise'],
  ...['list-503', 'list-html', 'list-hang', 'list-cut', 'list-slow', 'list-401'],
  ...['list-cache', 'list-cache', 'versions-fall'],
  ...['push-503', 'push-html', 'push-hang', 'push-429', 'push-reset', 'push-half-head'],
  ...['token-new', 'token-fail', 'token-hang', 'slow-reader', 'stop'],
] as const;

function chooseTrouble(luck: Luck, { isKilled, hasTerminal, troubles = {} }: Consumer): string {
  const own = Object.keys(troubles);
  const kinds: string[] = [...TROUBLES, ...own, ...own, ...own];
  if (isKilled) kinds.push('kill', 'kill', 'kill', 'kill');
  if (hasTerminal === true) kinds.push('terminal-closed', 'terminal-closed');
  return luck.pick(kinds);
}

interface Target {
  luck: Luck;
  service: Service;
  program: Program;
  writeToken(how: string): void;
}

function makeTrouble(kind: string, { luck, service, program, writeToken }: Target): void {
  const cut = () => service.cut(luck.chance(0.5) ? 'end' : 'destroy');
  if (kind === 'cut-end') service.cut('end');
  else if (kind === 'cut-destroy') service.cut('destroy');
  else if (kind === 'cut-mid') service.cut('mid');
  else if (kind === 'stall-dead') service.stall('dead');
  else if (kind === 'stall-late') service.stall('late');
  else if (kind === 'noise') service.noise();
  else if (kind === 'versions-fall') {
    service.fall();
    cut();
  } else if (kind === 'slow-reader') program.pause();
  else if (kind === 'kill') {
    program.kill();
    // The restarted program may read the list before it is connected.
    if (luck.chance(0.5)) service.mood.push = luck.pick(['503', 'reset', 'hang'] as const);
  } else if (kind === 'terminal-closed') program.hangUp();
  else if (kind === 'stop') program.halt();
  else if (kind.startsWith('list-')) {
    service.mood.list = kind.slice('list-'.length) as Mood['list'];
    cut();
  } else if (kind.startsWith('push-')) {
    service.mood.push = kind.slice('push-'.length) as Mood['push'];
    cut();
  } else {
    if (kind === 'token-new') service.mood.token++;
    writeToken(kind === 'token-fail' ? 'exit 1' : kind === 'token-hang' ? 'exec sleep 4' : '');
    cut();
  }
}

/** Returns how long a process has waited for a processor, in milliseconds; 0 when unknown. */
function waitOf(pid: number | 'self' | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** Returns the peak memory of a process in MB; 0 when unknown. */
function peakOf(pid: number | undefined): number {
  try {
    return (
      Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
    );
  } catch {
    return 0;
  }
}
