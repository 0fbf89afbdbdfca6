// Tests promises of cli.md section 4 that no other test covers: where the token is sent, and where
// it is hidden.

import { describe, expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../src/system/clock.js';
import { openFastClock } from './support/fast-clock.js';
import { isLong } from './support/often.js';
import { ENCODINGS, windowsLeft } from './support/quoting.js';
import { runFleet } from './support/run.js';
import { openServer, sendJson } from './support/server.js';

const SECRET = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2VjcmV0LXNpZ25hdHVyZQ';

/** Runs a command line with the secret as its token. */
const runAt = (url: string, line: string, env: NodeJS.ProcessEnv = {}, clock?: Clock) =>
  runFleet(line.split(' '), {
    env: { FLEET_BASE_URL: url, FLEET_TOKEN: SECRET, ...env },
    ...(clock && { clock }),
  });

describe('promise 2: the token is sent only to the configured service', () => {
  test.each([301, 302, 307, 308])(
    'does not send the token after an HTTP %i redirect to another origin',
    async (status) => {
      const stranger = await openServer((response) => sendJson(response, 200, []));
      const { url } = await openServer((response) =>
        sendJson(response, status, '', { location: `${stranger.url}/bicycles/` }),
      );
      for (const line of ['list', 'act a087eaf3-00b3-49c9-8706-c4ebfb2627fd rent'])
        expect((await runAt(url, `bicycles ${line}`)).code).toBe(7);
      expect(stranger.asked).toEqual([]);
    },
  );

  test('does not send the token when the `next` link points to another origin', async () => {
    const stranger = await openServer((response) => sendJson(response, 200, []));
    const { url, asked } = await openServer((response, { path }) =>
      sendJson(response, 200, {
        count: 2,
        next: path.includes('page=2') ? null : `${stranger.url}/bicycles/?page=2`,
        results: [{ uuid: path.includes('page=2') ? 'b' : 'a' }],
      }),
    );
    const { code, stdout } = await runAt(url, 'bicycles list --all -o uuid');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'a\nb\n' });
    expect(asked).toHaveLength(2);
    expect(stranger.asked).toEqual([]);
  });

  test.each([
    ['a trace', 200, '--trace'],
    ['a verbose log', 200, '--verbose'],
    ['an error that quotes it', 400, '--verbose --trace'],
    ['a JSON error that quotes it', 400, '--json'],
  ])('does not print the token in %s', async (_case, status, flags) => {
    const { url } = await openServer((response, { headers }) =>
      sendJson(
        response,
        status,
        status === 200 ? [] : { detail: `bad header: ${headers.authorization}` },
      ),
    );
    const { stdout, stderr } = await runAt(url, `bicycles list ${flags}`);
    expect(stdout + stderr).not.toContain(SECRET);
    expect(stderr).not.toBe('');
  });

  test.each([
    ['done', 'table', {}, 0],
    ['done', 'jsonl', {}, 0],
    ['unknown', 'jsonl', { 'content-encoding': 'gzip' }, 9],
    ['unknown', 'csv', { 'content-length': '9' }, 9],
  ] as const)(
    'prints no token in the results of actions that are %s, as %s',
    async (_outcome, format, headers, expected) => {
      const { url } = await openServer((response) =>
        sendJson(
          response,
          200,
          {},
          { ...headers, 'X-Service-RequestId': SECRET, connection: 'close' },
        ),
      );
      const uuids = 'a087eaf3-00b3-49c9-8706-c4ebfb2627fd 3cbf2500-27cf-4651-a3e0-130b9c9b2b9d';
      const line = `bicycles act ${uuids} rent --yes -o ${format} --trace --timeout 1`;
      const { stdout, stderr, code } = await runAt(url, line);
      expect(code).toBe(expected);
      expect(stdout + stderr).not.toContain(SECRET);
    },
  );

  test.each(['http://bikes.example.com', 'http://192.0.2.7:8000/api'])(
    'rejects plain %s except on loopback',
    async (url) => {
      const refused = { code: 3, stderr: expect.stringContaining('http') };
      expect(await runAt(url, 'bicycles list')).toMatchObject(refused);
    },
  );
});

test.each([
  ['the signature', 'https://bucket.example/a.csv?X-Amz-Signature=S3-cret&X-Amz-Expires=60'],
  ['the token in the fragment', 'https://login.example/#access_token=S3-cret&expires_in=60'],
  ['the password', 'https://ann:S3-cret@files.example/a.csv'],
])('replaces %s in a redirect URL with [hidden]', async (_name, location) => {
  const { url } = await openServer((response) => sendJson(response, 302, '', { location }));
  const lines = ['api /export/', 'bicycles list --json', 'doctor', 'doctor --json'];
  for (const line of [...lines, 'watch --topic x --for 1s --quiet']) {
    const { stdout, stderr } = await runAt(url, line, { FLEET_SSE_URL: url });
    const shown = stdout + stderr;
    expect([line, shown]).toEqual([line, expect.stringContaining(new URL(location).host)]);
    expect([line, shown]).toEqual([line, expect.stringContaining('[hidden]')]);
    expect([line, shown]).toEqual([line, expect.not.stringContaining('S3-cret')]);
  }
});

test('an error message escapes hostile text from the service', async () => {
  const { url } = await openServer((response) =>
    sendJson(
      response,
      400,
      { detail: '\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u009b31m\u202egnp.exe\nhint: run rm' },
      { 'x-service-requestid': 'r\u001b[1m'.replace('\u001b', '') },
    ),
  );
  const { stderr } = await runAt(url, 'bicycles list');
  expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  expect(stderr.split('\n').filter((line) => line.startsWith('hint'))).toHaveLength(0);
});

describe('promise 10: the token is hidden before text is truncated, escaped or quoted', () => {
  /**
   * Sources of text: body, headers, and the positions at which text is truncated (500 characters,
   * 64 kB).
   */
  const PLACES: Record<
    string,
    (quoted: string) => { status: number; body: string; headers?: Record<string, string> }
  > = {
    'a short detail': (quoted) => ({
      status: 400,
      body: JSON.stringify({ detail: `no: ${quoted}` }),
    }),
    'a detail cut in the token': (quoted) => ({
      status: 400,
      body: JSON.stringify({ detail: `${'x '.repeat(220)}${quoted}` }),
    }),
    'a key, within a nested error': (quoted) => ({
      status: 403,
      body: JSON.stringify({ detail: { [quoted]: ['no'] } }),
    }),
    'plain text': (quoted) => ({ status: 500, body: `${'.'.repeat(480)}${quoted}` }),
    'the title of a page': (quoted) => ({
      status: 404,
      body: `<html><title>${'y'.repeat(440)}${quoted}</title></html>`,
    }),
    'a body cut at 64 kB': (quoted) => ({ status: 400, body: `${'z'.repeat(65_500)}${quoted}` }),
    'the request id': (quoted) => ({
      status: 400,
      body: '{}',
      headers: { 'X-Service-RequestId': quoted.replace(/[^\x21-\x7e]/g, '') },
    }),
    'the address of a redirect': (quoted) => ({
      status: 302,
      body: '',
      headers: { location: `http://elsewhere.example/${quoted.replace(/[^\x21-\x7e]/g, '')}` },
    }),
    'the reason of a retry': (quoted) => ({
      status: 503,
      body: quoted,
      headers: { 'retry-after': '0' },
    }),
  };
  const FLAGS = ['', '--json', '--verbose', '--trace --verbose --json'];

  test.each(Object.keys(PLACES))('replaces the token in %s with [hidden]', async (place) => {
    let answer = { status: 200, body: '', headers: {} };
    const clock = openFastClock();
    onTestFinished(clock.stop);
    const { url } = await openServer((response) =>
      sendJson(response, answer.status, answer.body, answer.headers),
    );
    for (const [index, [name, encode]] of Object.entries(ENCODINGS).entries()) {
      answer = { headers: {}, ...PLACES[place]?.(encode(SECRET)) } as typeof answer;
      // Each source is tested with two of the four encodings, as text and as JSON.
      for (const flags of isLong ? FLAGS : FLAGS.filter((_, way) => way >> 1 === index % 2)) {
        const run = await runAt(url, `bicycles list --retries 1 ${flags}`.trim(), {}, clock);
        expect([name, flags, run.code === 0, windowsLeft(run.stdout + run.stderr, SECRET)]).toEqual(
          [name, flags, false, []],
        );
        if (flags.includes('--json') && !flags.includes('verbose')) {
          const last = run.stderr.trim().split('\n').at(-1) ?? '';
          expect(JSON.parse(last)).toHaveProperty('error.kind');
        }
      }
    }
  });

  test('the stderr of a token command does not show the token', async () => {
    const command = `echo "+ curl -H 'Authorization: JWT ${SECRET}'" >&2; echo ${SECRET}`;
    const env = {
      FLEET_BASE_URL: 'http://127.0.0.1:1',
      FLEET_TOKEN_COMMAND: command,
      PATH: process.env['PATH'],
    };
    const run = await runFleet(['bicycles', 'list', '--retries', '0'], { env });
    expect(run.stderr).toContain("+ curl -H 'Authorization: JWT [hidden]'\n");
    expect(windowsLeft(run.stderr, SECRET)).toEqual([]);
  });
});

test.each(['watch 0f8fad5b-d9cb-469f-a165-70867728950e', 'doctor', 'doctor --json'])(
  'promise 10: hides the token in quotes of the push channel and doctor: %s',
  async (line) => {
    const { url } = await openServer((response, { path }) => {
      const detail = `${'x '.repeat(220)}${ENCODINGS['in base64']?.(SECRET)} ${SECRET}`;
      const status = path.startsWith('/subscribe') ? 401 : 400;
      sendJson(response, status, { detail }, { 'X-Service-RequestId': SECRET });
    });
    const run = await runAt(url, line, { FLEET_SSE_URL: url });
    expect(run.code).not.toBe(0);
    expect(windowsLeft(run.stdout + run.stderr, SECRET)).toEqual([]);
    if (line.startsWith('watch'))
      expect(run.stderr).toContain('FLEET_TOKEN is set, so fleet uses no other token');
  },
);
