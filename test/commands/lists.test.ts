// Tests the work of long lists: large jq results, page by page output, and the progress line. The
// transcripts test/transcripts/bicycles/list*.md show all other behaviour.

import { describe, expect, test } from 'vitest';
import { mostly } from '../support/often.js';
import { runFleet } from '../support/run.js';
import { openServer, sendJson, sendPart } from '../support/server.js';

const PROGRAMS = [
  ['length', '130000\n'],
  ['.[] | 1', '1\n'.repeat(130_000)],
] as const;

test.each(mostly(PROGRAMS, (_, index) => index === 1))(
  'runs the jq program %s on a page of 130,000 items',
  async (program, printed) => {
    const { env } = await openServer((response) =>
      sendJson(response, 200, new Array(130_000).fill({})),
    );
    const { code, stdout } = await runFleet(['bicycles', 'list', '-q', '--jq', program], { env });
    expect([code, stdout === printed]).toEqual([0, true]);
  },
);

describe('`bicycles list --jq`', () => {
  test('--jq processes the list page by page when its program begins with .[]', async () => {
    let askedAtFirstLine = 0;
    const all = Array.from({ length: 20 }, (_, index) => ({ uuid: `u${index}` }));
    const { env, asked } = await openServer((response, request) =>
      sendPart(response, request, all, 1),
    );
    const { stdout } = await runFleet(['bicycles', 'list', '--all', '--jq', '.[] | .uuid'], {
      env,
      onStdout: () => {
        askedAtFirstLine ||= asked.length;
      },
    });
    expect(stdout.split('\n')).toHaveLength(21);
    expect(askedAtFirstLine).toBeLessThan(15);
  });
});

describe('the progress line of `bicycles list`', () => {
  /** Returns the visible lines of both streams on one terminal, without erased text. */
  function screenOf(text: string): string[] {
    return text
      .split('\n')
      .map((line) => line.slice(line.lastIndexOf('\r\u001b[K') + 1).replace('\u001b[K', ''));
  }

  const run = async (args: readonly string[], terminal: boolean) => {
    const all = Array.from({ length: 8 }, (_, index) => ({
      uuid: `u${index}`,
      name: `Ada ${index}`,
    }));
    const { env } = await openServer(async (response, request) => {
      await new Promise((resolve) => setTimeout(resolve, request.page === 3 ? 900 : 0));
      sendPart(response, request, all, 2);
    });
    let both = '';
    let drawn = '';
    const result = await runFleet(['bicycles', 'list', '--no-color', ...args], {
      env,
      ...(terminal ? { terminal: { columns: 80 } } : {}),
      onStdout: (text) => {
        both += text;
      },
      onStderr: (text) => {
        both += text;
        drawn += text;
      },
    });
    return { ...result, screen: screenOf(both), drawn };
  };

  test.each([['table'], ['csv'], ['uuid'], ['jsonl'], ['json'], ['geojson'], ['yaml']])(
    'never overlaps the %s output and is erased at the end',
    async (format) => {
      const { code, stdout, screen } = await run(['--all', '-o', format], true);
      expect(code).toBe(0);
      const notices = screen.filter(
        (line) => line.startsWith('Hidden at this width') || line.includes('left out'),
      );
      // An empty line comes before them.
      const footer = notices.length === 0 ? '' : `\n${notices.join('\n')}\n`;
      expect(screen.join('\n')).toBe(stdout + footer);
    },
  );

  test('the progress line shows pages, rows, the total and rows per second', async () => {
    const { drawn, stdout } = await run(['--all', '-o', 'jsonl'], true);
    expect(drawn).toMatch(/^\r\u001b\[K2 pages, 4 of 8 bicycles, \d+ a second/);
    expect(drawn).toMatch(/\r\u001b\[K$/);
    expect(stdout.split('\n')).toHaveLength(9);
  });

  test.each([
    [['--all', '--quiet'], true],
    [['--all'], false],
    [['--page', '3'], true],
  ])('the progress line is not drawn with %j (on a terminal: %s)', async (args, terminal) => {
    const { drawn } = await run(['-o', 'jsonl', ...args], terminal);
    expect(drawn).not.toContain('\r');
  });

  test('a retry message replaces the progress line of `bicycles list`', async () => {
    let count = 0;
    const { env } = await openServer((response) =>
      ++count === 1
        ? sendJson(response, 503, { detail: 'busy' })
        : sendJson(response, 200, [{ uuid: 'a' }]),
    );
    const { code, stderr } = await runFleet(['bicycles', 'list', '--all', '-o', 'uuid'], {
      env,
      terminal: { columns: 80 },
    });
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/busy; trying again in 0\.\d s \(1 of 3\)\n/),
    ]);
  });
});
