// Tests the parts of a terminal around a result: footers, marks, complete tables, --no-headers and
// ASCII output.

import { describe, expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const service = useSandbox({ bicycles: 90 });

interface Terminal {
  columns?: number;
  env?: NodeJS.ProcessEnv;
}

async function onTerminal(line: string, { columns = 80, env = {} }: Terminal = {}) {
  return runFleet(line.split(' '), {
    env: { ...(await environmentOf(service())), NO_COLOR: '1', ...env },
    terminal: { columns },
  });
}

async function inPipe(line: string) {
  return runFleet(line.split(' '), { env: await environmentOf(service()) });
}

describe('the footer below a list', () => {
  test('the footer of a list is gray and follows an empty line', async () => {
    const { stderr } = await onTerminal('bicycles list --limit 3', { env: { NO_COLOR: '' } });
    expect(stderr).toMatch(
      /\n\u001b\[2mShowing 3 of \d+ bicycles\. Everything: --all\u001b\[22m\n/,
    );
    expect(stderr).toMatch(
      /\n\u001b\[2mHidden at this width: POSITION\. Every column: -o wide\u001b\[22m\n$/,
    );
  });

  test('the footer of a list is plain in a pipe and omitted with -q', async () => {
    expect((await onTerminal('bicycles list --limit 3 -q')).stderr).toBe('');
    expect((await inPipe('bicycles list --limit 3')).stderr).toMatch(
      /^Showing 3 of \d+ bicycles\. Everything: --all\n$/,
    );
  });
});

test('long messages break between words', async () => {
  const { stderr } = await onTerminal('bicycles list --state lost --name nobody', { columns: 24 });
  expect(stderr).toBe('No bicycles found. Try\nfewer filters, or\nanother --organization\n');
});

describe('tables without truncation', () => {
  test('-o wide prints all columns and full UUIDs at any terminal width', async () => {
    const { stdout } = await onTerminal('bicycles list --limit 3 -o wide', { columns: 40 });
    expect(stdout).toMatch(/^NAME +STATE +CHARGE +SEEN +ID +POSITION\n/);
    expect(stdout.match(/[0-9a-f]{8}-[0-9a-f]{4}-/g)).toHaveLength(3);
    const alerts = await onTerminal('alerts list --limit 3 -o wide', { columns: 40 });
    expect(alerts.stdout).toMatch(/^AGE +TYPE +STATE +BICYCLE +MESSAGE +ID\n/);
    expect(alerts.stdout).not.toContain('…');
  });

  test('--no-truncate prints the table columns with their full values', async () => {
    const cut = await onTerminal('alerts list', { columns: 80 });
    const uncut = await onTerminal('alerts list --no-truncate', { columns: 80 });
    expect(cut.stdout).toContain('…');
    expect(uncut.stdout).not.toContain('…');
    const headersOf = ({ stdout }: { stdout: string }) => stdout.split('\n', 1)[0]?.split(/ +/);
    expect(headersOf(uncut)).toEqual(headersOf(cut));
  });

  test('`get -o wide` prints links unchanged', async () => {
    const [uuid = ''] = (await inPipe('bicycles list --limit 1 -o uuid -q')).stdout.split('\n');
    expect((await onTerminal(`bicycles get ${uuid} -o wide`)).stdout).toMatch(
      /^organization +http:\S+\/organizations\//m,
    );
  });
});

describe('--no-headers', () => {
  test.each(['table', 'csv', 'tsv'])('omits the header of %s', async (format) => {
    const whole = (await inPipe(`bicycles list --limit 3 -o ${format}`)).stdout;
    expect((await inPipe(`bicycles list --limit 3 -o ${format} --no-headers`)).stdout).toBe(
      whole.slice(whole.indexOf('\n') + 1),
    );
  });

  test.each(['--json', '-o uuid', '--jq .'])('is rejected with %s', async (flag) => {
    const { code, stderr } = await inPipe(`bicycles list --no-headers ${flag}`);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--no-headers')]);
  });
});

test('`alerts list` prints the newest alerts first unless --ordering is given', async () => {
  const created = async (line: string) =>
    JSON.parse((await inPipe(`${line} --jq map(.created)`)).stdout) as string[];
  const newest = await created('alerts list');
  expect(newest).toEqual([...newest].sort().reverse());
  expect(service().requests.at(-1)?.url).toContain('ordering=-created');
  const oldest = await created('alerts list --ordering created');
  expect(oldest).toEqual([...oldest].sort());
});

describe('a terminal that supports only ASCII', () => {
  test.each([
    { TERM: 'dumb', LANG: 'C.UTF-8' },
    { LANG: 'C' },
    { LC_ALL: 'POSIX', LANG: 'de_DE.UTF-8' },
  ])('prints only ASCII characters with the environment %j', async (env) => {
    const lines = [
      'bicycles stats --by state',
      'bicycles list --limit 5 --columns state,model',
      'doctor',
    ];
    for (const line of lines) {
      const { stdout, stderr } = await onTerminal(line, { env });
      // A slow machine draws the progress line.
      expect((stdout + stderr).replaceAll('\r\u001b[K', '\r')).toMatch(/^[\x20-\x7E\n\r]+$/);
    }
  });

  test('a UTF-8 terminal shows symbols and bars instead of ASCII', async () => {
    expect((await onTerminal('doctor', { env: { LANG: 'C.UTF-8' } })).stdout).toMatch(
      /^✓ {2}fleet/m,
    );
    expect((await onTerminal('bicycles stats --by state')).stdout).toContain('█');
  });
});
