// Runs command lines in real shells, with the built program as `fleet`: in pipes or in a terminal.

import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newFolder } from './folder.js';
import { PROGRAM_LINE } from './program.js';

/** Creates a home folder: an empty folder, and a PATH on which `fleet` is the built program. */
export interface Home {
  folder: string;
  env: NodeJS.ProcessEnv;
}

/** @param tools further commands on the PATH: their names, and what `sh` does for them */
export async function makeHome(
  env: NodeJS.ProcessEnv = {},
  tools: { [name: string]: string } = {},
): Promise<Home> {
  const folder = newFolder();
  const bin = join(folder, 'bin');
  await mkdir(bin);
  const scripts = { ...tools, fleet: `exec ${PROGRAM_LINE} "$@"` };
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, name), 0o755);
  }
  return {
    folder,
    env: {
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      LANG: 'C.UTF-8',
      FLEET_CONFIG_DIR: join(folder, 'settings'),
      ...env,
    },
  };
}

export interface Ended {
  code: number | null;
  /** All output of stdout and stderr. */
  text: string;
}

/** A step that runs as soon as a text appears. */
export interface Step {
  when: RegExp;
  /** Keys to press; without a terminal, a signal for the process group. */
  press: string | NodeJS.Signals;
  /** Keys to press every few seconds until the text appears, for a program that gave up waiting. */
  meanwhile?: string;
}

export interface RunOptions {
  isTerminal?: boolean;
  /** The steps in their order. */
  steps?: readonly Step[];
  /** `bash` by default. */
  shell?: string;
}

/** How long a line may run before it is killed; its code is then null. */
const LIMIT_MS = 120_000;
/** Types at human speed, because keys that are pressed while a prompt is drawn may be lost. */
const LOOK_EVERY_MS = 60;

/** A condition that is true at once. */
export const AT_ONCE = /(?:)/;
const MEANWHILE_EVERY_MS = 8_000;

/** Runs a line in a shell, in the home's folder. */
export async function runLine(home: Home, line: string, options: RunOptions = {}): Promise<Ended> {
  const { isTerminal = false, steps = [], shell = 'bash' } = options;
  const script = shell === 'bash' ? `set -o pipefail; ${line}` : line;
  const child = isTerminal
    ? spawn(
        'script',
        ['-qefc', `stty cols 100 rows 40; ${quote([shell, '-c', script])}`, '/dev/null'],
        {
          cwd: home.folder,
          env: { ...home.env, SHELL: '/bin/sh', TERM: 'xterm' },
          detached: true,
        },
      )
    : spawn(shell, ['-c', script], {
        cwd: home.folder,
        env: home.env,
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
  return watch(child, steps);
}

function quote(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
}

async function watch(child: ChildProcess, steps: readonly Step[]): Promise<Ended> {
  const left = [...steps];
  let text = '';
  let seen = '';
  const onData = (chunk: Buffer) => {
    text += chunk.toString();
    seen += chunk.toString();
  };
  child.stdout?.on('data', onData);
  child.stderr?.on('data', onData);
  let waitingSince = performance.now();
  const look = setInterval(() => {
    const [step] = left;
    if (step === undefined) return;
    if (!step.when.test(seen)) {
      if (step.meanwhile === undefined || performance.now() < waitingSince + MEANWHILE_EVERY_MS)
        return;
      child.stdin?.write(step.meanwhile);
      waitingSince = performance.now();
      return;
    }
    left.shift();
    seen = '';
    waitingSince = performance.now();
    if (child.stdin !== null) child.stdin.write(step.press);
    else if (child.pid !== undefined) process.kill(-child.pid, step.press as NodeJS.Signals);
  }, LOOK_EVERY_MS);
  const limit = setTimeout(() => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, LIMIT_MS);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearInterval(look);
  clearTimeout(limit);
  return { code, text };
}
