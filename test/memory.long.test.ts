// 64 MB of an answer may need at most 400 MB of memory in every format (cli.md section 4, promise
// 6).

import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FORMATS } from '../src/terminal/formats.js';
import { newFolder } from './support/folder.js';
import { isExecutable, PROGRAM_ARGS, PROGRAM_FILE } from './support/program.js';
import { openServer } from './support/server.js';

const LIMIT_KB = 400 * 1024;
const PAGE_BYTES = 60 * 2 ** 20;

/** Prints the peak memory of the program at its end. */
const HOOK = `data:text/javascript,${encodeURIComponent(
  "process.on('exit', () => process._rawDebug('peak ' + process.resourceUsage().maxRSS))",
)}`;

/** Characters that formats escape or quote one by one. */
function hostilePage(character: string): Buffer {
  const description = character.repeat(Math.floor(1_000_000 / Buffer.byteLength(character)));
  const items = Array.from(
    { length: 60 },
    (_, index) =>
      `{"uuid":"${String(index).padStart(8, '0')}-0000-4000-8000-000000000001","description":"${description}"}`,
  );
  return Buffer.from(`[${items.join(',')}]`);
}

function largePage(number: number): Buffer {
  const items: string[] = [];
  for (let bytes = 0, index = 0; bytes < PAGE_BYTES; index++) {
    const uuid = `${String(index).padStart(8, '0')}-0000-4000-8000-00000000000${number}`;
    const fields = {
      name: `Emmy ${index}`,
      state: 'available',
      latitude: 52.5,
      longitude: 13.4,
      lock: null,
      tags: [],
    };
    const links = {
      model: `http://127.0.0.1/bicycle_models/${uuid}/`,
      lock: `http://127.0.0.1/locks/${uuid}/`,
    };
    const text = JSON.stringify({
      uuid,
      ...fields,
      ...links,
      modified: '2026-03-01T12:00:00Z',
      description: 'a'.repeat(300),
    });
    items.push(text);
    bytes += text.length + 1;
  }
  const next = number === 1 ? '"http://127.0.0.1/bicycles/?page=2"' : 'null';
  return Buffer.from(`{"count":${2 * items.length},"next":${next},"results":[${items.join(',')}]}`);
}

/** Returns the peak memory of the program while it printed the pages, and its output. */
async function peakOf(args: readonly string[], pages: readonly Buffer[]) {
  const { url } = await openServer((response, { path }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(pages[path.includes('page=2') ? 1 : 0]);
  });
  return peakOfProgram(url, ['bicycles', 'list', '--all', '-q', ...args]);
}

async function peakOfProgram(url: string, args: readonly string[]) {
  const env = {
    FLEET_BASE_URL: url,
    FLEET_TOKEN: 't',
    FLEET_CONFIG_DIR: '/nonexistent/fleet-tests',
  };
  const command = ['--import', HOOK, ...PROGRAM_ARGS, ...args];
  const child = spawn(PROGRAM_FILE, command, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const code = await new Promise((resolve) => child.on('close', resolve));
  const [, peakKb] = /^peak (\d+)$/m.exec(stderr) ?? [];
  return { code, stderr: stderr.replace(/^peak .*\n/m, ''), peakKb: Number(peakKb) };
}

// Messages that only Node prints.
describe.skipIf(isExecutable)('peak memory use', { timeout: 120_000 }, () => {
  // A workbook is built completely in memory, so it has no such limit.
  const formats = FORMATS.filter((format) => format !== 'xlsx').map((format) => [format]);
  test.each(formats)('prints two pages of 60 MB as %s within the memory limit', async (format) => {
    const { peakKb, ...end } = await peakOf(['-o', format], [largePage(1), largePage(2)]);
    expect(end).toEqual({ code: 0, stderr: '' });
    expect(peakKb).toBeLessThan(LIMIT_KB);
  });

  test.each(['table', 'csv', 'yaml'])(
    'for texts with many escaped characters as %s',
    async (format) => {
      for (const character of ['\\"', '\\u001b']) {
        const { peakKb, ...end } = await peakOf(['-o', format], [hostilePage(character)]);
        expect({ character, ...end }).toEqual({ character, code: 0, stderr: '' });
        expect(peakKb).toBeLessThan(LIMIT_KB);
      }
    },
  );

  test.each([
    ['.[] | .name', LIMIT_KB],
    ['length', 2 * LIMIT_KB],
  ])('filters two pages of 60 MB with jq within the limit: %s', async (program, limitKb) => {
    const { peakKb, ...end } = await peakOf(
      ['--jq', program, '--limit', '100000'],
      [largePage(1), largePage(2)],
    );
    expect(end).toEqual({ code: 0, stderr: '' });
    expect(peakKb).toBeLessThan(limitKb);
  });

  test.each([
    ['CSV', 'name,serial_number\n', (row: number) => `Bicycle ${row},${row}\n`],
    ['JSON lines', '', (row: number) => `{"name":"Bicycle ${row}","serial_number":"${row}"}\n`],
  ])(
    'creates a million bicycles from %s within the memory limit',
    async (_format, header, rowOf) => {
      const folder = newFolder();
      const path = join(folder, 'bicycles');
      await writeFile(
        path,
        header + Array.from({ length: 1_000_000 }, (_, row) => rowOf(row)).join(''),
      );
      const organization = ['--organization', '00000000-0000-4000-8000-000000000001'];
      const command = ['bicycles', 'create', '--from', path, '--dry-run', ...organization];
      const { peakKb, ...end } = await peakOfProgram('http://127.0.0.1:9', command);
      expect(end).toEqual({ code: 0, stderr: 'dry run: 1000000 requests, nothing was sent\n' });
      // The input is kept completely, because it is checked before anything is sent.
      expect(peakKb).toBeLessThan(1024 * 1024);
    },
  );
});
