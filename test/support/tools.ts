// Checks tools that some tests need. Missing ones are reported at the end of a run, so that skipped
// tests are noticed.

import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { hasPostgres } from './postgres.js';

/** Each tool and the tests that need it. */
const TOOLS = {
  zsh: 'completion in zsh',
  fish: 'completion in fish',
  groff: 'the pages of the manual as groff reads them',
  mandoc: 'the pages of the manual as mandoc reads them',
  openssl: 'certificates of an unknown authority',
  jq: 'examples that pipe into jq',
  curl: 'examples that use curl',
  script: 'whatever needs a terminal: prompts, the board, the real shells, a stopped terminal',
  root: 'files and folders of another user',
  postgres: 'mirrors in PostgreSQL; npm brings its server to Linux, macOS and Windows',
} as const;

/** The file of the skips that tests report; every worker inherits the variable. */
export const SKIPS_VARIABLE = 'FLEET_TEST_SKIPS';

export type Tool = keyof typeof TOOLS;

const found = new Map<string, boolean>();

/** Returns whether a command is installed; checked once. */
export function hasCommand(name: string): boolean {
  const isFound = found.get(name) ?? spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
  found.set(name, isFound);
  return isFound;
}

/** Whether a test that needs the tool can run. */
export function hasTool(tool: Tool): boolean {
  if (tool === 'postgres') return hasPostgres();
  if (tool === 'root') return process.geteuid?.() === 0;
  // Only the `script` of util-linux opens a terminal as these tests need it.
  if (tool === 'script' && process.platform !== 'linux') return false;
  return hasCommand(tool);
}

/** Returns a line for each missing tool and each reported skip. */
export function skippedLines(): string[] {
  const missing = (Object.keys(TOOLS) as Tool[]).filter((tool) => !hasTool(tool));
  const path = process.env[SKIPS_VARIABLE] ?? '';
  const reported = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  return [
    ...missing.map((tool) => `SKIPPED without ${tool}: ${TOOLS[tool]}`),
    ...new Set(reported),
  ];
}

/**
 * Keeps a line for the end of the run about a tool that turns out to be missing when a test starts
 * it.
 */
export function reportSkip(line: string): void {
  const path = process.env[SKIPS_VARIABLE];
  if (path === undefined) process.stderr.write(`\n!!! ${line}\n`);
  else appendFileSync(path, `${line}\n`);
}
