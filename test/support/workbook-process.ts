// Reads a workbook in a separate process to measure its memory and time.

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { newFolder } from './folder.js';

const SOURCE = new URL('../../src/input/workbook.ts', import.meta.url).pathname;

const SCRIPT = `
const { readFileSync } = require('node:fs');
const { readWorkbook } = require('./workbook.cjs');
const abort = new AbortController();
process.on('SIGINT', () => abort.abort(new Error('interrupted')));
function peakKb() {
  // On Linux, maxRSS also counts the memory that the parent had when it forked.
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS;
  return Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
}
async function run() {
  const bytes = readFileSync(process.argv[2]);
  process.stderr.write('started');
  try {
    const sheet = await readWorkbook(bytes, 'fleet.xlsx', { signal: abort.signal });
    return sheet.rows.length + ' rows';
  } catch (error) {
    return error.message;
  }
}
run().then((outcome) => {
  console.log(JSON.stringify({ outcome, peakMb: Math.round(peakKb() / 1024) }));
});
`;

/** Bundles the reader once, for Node without TypeScript. Returns the folder with the script. */
export async function buildReader(): Promise<string> {
  const folder = newFolder();
  await build({
    input: SOURCE,
    platform: 'node',
    output: { dir: folder, format: 'cjs', entryFileNames: 'workbook.cjs' },
  });
  writeFileSync(join(folder, 'read.cjs'), SCRIPT);
  return folder;
}

export interface ReaderResult {
  /** The number of rows, or the message of the error. */
  readonly outcome: string;
  readonly peakMb: number;
}

/** Reads the workbook; with `interruptAfterMs` the process gets SIGINT that long after it began to read. */
export async function readInProcess(
  reader: string,
  workbook: Uint8Array,
  interruptAfterMs?: number,
): Promise<ReaderResult> {
  const path = join(newFolder(), 'fleet.xlsx');
  writeFileSync(path, workbook);
  const child = spawn(process.execPath, [join(reader, 'read.cjs'), path]);
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.once('data', () => {
    if (interruptAfterMs === undefined) return;
    setTimeout(() => child.kill('SIGINT'), interruptAfterMs);
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.on('close', (...end) => resolve(end));
  });
  if (code !== 0) throw new Error(`the reader ended with ${code ?? signal}`);
  return JSON.parse(output);
}
