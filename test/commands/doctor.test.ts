// Tests `fleet doctor` with faulty services and networks, and how long it waits. The transcripts in
// test/transcripts/doctor show its findings.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Finding } from '../../src/commands/doctor/finding.js';
import type { Sandbox } from '../../src/sandbox/index.js';
import { saveProfile, saveToken, useProfile } from '../../src/settings/store.js';
import { openQuickClock } from '../support/fast-clock.js';
import { newFolder } from '../support/folder.js';
import { hostile } from '../support/hostile.js';
import { openMisbehaving } from '../support/misbehaving.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { eventually } from '../support/running.js';
import { openSandbox, useSandbox } from '../support/sandbox.js';
import { type Answer, openServer, sendJson } from '../support/server.js';

const service = useSandbox({ bicycles: 30 });

/** Clock speed: four seconds of waiting take one second. */
const HURRY = 4;
const AN_HOUR_S = 3_600;

let folder: string;

beforeEach(async () => {
  folder = newFolder();
  await settle(service());
});

async function settle(
  sandbox: Sandbox,
  values: { base_url?: string; sse_url?: string } = {},
): Promise<void> {
  const place = {
    folder,
    configPath: join(folder, 'config.json'),
    credentialsPath: join(folder, 'credentials.json'),
  };
  const organization = sandbox.organizations[0]?.uuid;
  await saveProfile(place, 'sandbox', {
    base_url: sandbox.baseUrl,
    sse_url: sandbox.sseUrl,
    organization,
    ...values,
  });
  await saveToken(place, 'sandbox', await sandbox.token());
  await useProfile(place, 'sandbox');
}

const fleet = (line: string, options: RunOptions = {}) =>
  runFleet(line.split(' '), { ...options, env: { FLEET_CONFIG_DIR: folder, ...options.env } });

/** Runs `doctor` and returns its findings by check; `wrong` contains all that are not ok. */
async function examine(flags = '', options: RunOptions = {}) {
  const run = await fleet(`doctor --json --timeout 2${flags === '' ? '' : ` ${flags}`}`, options);
  const findings = JSON.parse(run.stdout) as Finding[];
  const wrong = findings
    .filter(({ outcome }) => outcome !== 'ok')
    .map(({ check, outcome }) => `${outcome} ${check}`);
  const lines = findings.map(
    ({ check, outcome, finding, next }) => `${outcome} ${check}: ${finding} > ${next}`,
  );
  return {
    ...run,
    findings,
    lines: lines.join('\n'),
    wrong,
    find: (check: string) => findings.find((finding) => finding.check === check),
  };
}

describe('`doctor` without problems', () => {
  it('`doctor` closes its connection to the push channel', async () => {
    expect((await fleet('doctor')).code).toBe(0);
    await eventually(() => service().streamCount() === 0);
  });

  it.each([60, 100])('the output of `doctor` fits a terminal of %i columns', async (columns) => {
    const env = { FLEET_SSE_URL: 'http://push.example.com' };
    const { stdout } = await fleet('doctor --no-color', { terminal: { columns }, env });
    expect(
      stdout.split('\n').filter((line) => line.length > columns && !/\S{30}/.test(line)),
    ).toEqual([]);
    expect(stdout).toMatch(/^✗ +sse_url/m);
    expect(stdout).toContain('use https');
  });

  it('`doctor` changes nothing and never prints the token', async () => {
    const before = await readFile(join(folder, 'config.json'), 'utf8');
    const run = await fleet('doctor --verbose');
    expect(await readFile(join(folder, 'config.json'), 'utf8')).toBe(before);
    const { tokens } = JSON.parse(await readFile(join(folder, 'credentials.json'), 'utf8'));
    expect(run.stdout + run.stderr).not.toContain(tokens.sandbox);
  });
});

it.each<[string, number, string, number]>([
  ['that the service refuses is a failure', 403, 'failure organization', 3],
  ['without any bicycle is a warning: it may be new', 200, 'warning organization', 0],
])('`doctor`: an organization %s', async (_what, status, expected, code) => {
  const { url } = await openServer((response, { path }) =>
    sendJson(response, path.includes('organization=') ? status : 200, []),
  );
  const run = await examine('', { env: { FLEET_BASE_URL: url } });
  expect([run.code, run.wrong]).toEqual([code, [expected]]);
});

it("`doctor` fails when the service cannot look up the organization's name", async () => {
  const { url } = await openServer((response, { path }) =>
    sendJson(response, path.includes('organ') ? 500 : 200, []),
  );
  const env = { FLEET_BASE_URL: url, FLEET_ORGANIZATION: 'Nordlicht' };
  expect(await examine('', { env })).toMatchObject({ code: 7, wrong: ['failure organization'] });
});

it('`doctor` reports a host that does not exist', async () => {
  const env = { FLEET_BASE_URL: 'https://nobody.invalid' };
  const { code, lines } = await examine('', { env });
  expect(code).toBe(8);
  expect(lines).toMatch(/^failure http: .*nobody\.invalid/);
});

describe('`doctor` and the token', () => {
  it('`doctor` reports a token command that takes too long', async () => {
    const env = { FLEET_TOKEN_COMMAND: 'sleep 20', PATH: process.env['PATH'] };
    expect((await examine('--timeout 0.2', { env })).lines).toMatch(
      /^failure token: .*gave no token within 0.2 s/m,
    );
  });
});

it.each([
  [3_605_000, '1 h'],
  [-120_000, 'behind the service'],
])('`doctor` warns about a clock that is off by %i ms', async (offset, words) => {
  const { find } = await examine('', { now: () => Date.now() + offset });
  expect(find('clock')).toMatchObject({
    outcome: 'warning',
    finding: expect.stringContaining(words),
  });
});

describe('`doctor` and the network', () => {
  it('`doctor` waits no longer than --timeout for a service that does not answer', async () => {
    const { url } = await openServer(() => {});
    const { code, find } = await examine('--timeout 0.3', { env: { FLEET_BASE_URL: url } });
    expect([code, find('http')?.outcome]).toEqual([8, 'failure']);
  });

  it('`doctor` accepts a compressed response', async () => {
    const { url } = await openServer((response) => {
      const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
      response.writeHead(200, headers).end(gzipSync('[]'));
    });
    const { find } = await examine('', { env: { FLEET_BASE_URL: url } });
    expect(find('prefix')?.outcome).toBe('ok');
  });

  it('`doctor` shows the proxy, which hosts use it, and proxy errors', async () => {
    const proxy = await openMisbehaving((socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    const withUser = proxy.url.replace('http://', 'http://ann:secret@');
    const env = { FLEET_BASE_URL: 'https://bikes.example.com/api', HTTPS_PROXY: withUser };
    const { code, find, stdout, findings } = await examine('', { env });
    expect(code).toBe(8);
    expect(find('proxy')?.finding).toBe(`service is reached through ${proxy.url} (HTTPS_PROXY)`);
    expect(find('http')?.outcome).toBe('failure');
    expect(stdout).not.toContain('secret');
    expect(
      findings.filter(({ check, outcome }) => check === 'proxy' && outcome === 'ok').at(-1)
        ?.finding,
    ).toContain('no proxy is set');
    const excluded = await examine('', { env: { ...env, NO_PROXY: '.example.com' } });
    expect(excluded.find('proxy')?.finding).toBe(
      'service is reached directly: NO_PROXY excludes it',
    );
  });
});

describe('`doctor` and the push URL', () => {
  it('waits no longer than --timeout when the push URL redirects to a silent server', async () => {
    const { url } = await openServer((response, { path }) => {
      if (!path.startsWith('/slow')) response.writeHead(302, { location: '/slow' }).end();
    });
    await settle(service(), { sse_url: url });
    const patience = new Promise((resolve) => setTimeout(resolve, 5000, 'still waiting').unref());
    const examined = await Promise.race([examine('--timeout 1'), patience]);
    expect(examined).toMatchObject({ code: 8, wrong: ['failure push'] });
  });

  it.each<[string, Answer, string]>([
    [
      'answers with a page',
      (response) =>
        void response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Login</title>'),
      'did not answer with an event stream: text/html "Login"',
    ],
    [
      'refuses the token',
      (response) => sendJson(response, 403, { detail: 'not yours' }),
      'not yours',
    ],
    ['never answers', () => {}, 'no answer from'],
  ])('reports when the push channel %s', async (_what, answer, words) => {
    const { url } = await openServer(answer);
    await settle(service(), { sse_url: url });
    const { find } = await examine('--timeout 0.5');
    expect(find('push')).toMatchObject({
      outcome: 'failure',
      finding: expect.stringContaining(words),
    });
  });
});

it.each<[string, ReturnType<typeof hostile>, NodeJS.ProcessEnv]>([
  ['that never answer', hostile('silent'), {}],
  [
    'that answer errors byte by byte',
    hostile('slowBody', { status: 500, body: 'x'.repeat(1000), everyMs: 100 }),
    {},
  ],
  [
    'that never answer, with a token that does not come',
    hostile('silent'),
    { FLEET_TOKEN_COMMAND: `sleep ${AN_HOUR_S}` },
  ],
])(
  'waits at most 10 s in total for a service and a push channel %s',
  async (_case, behaviour, env) => {
    const { url } = await openMisbehaving(behaviour);
    await settle(service(), { base_url: url, sse_url: url });
    // Without the limit of 10 s, the command would outlast the test.
    const { code } = await fleet(`doctor --timeout ${AN_HOUR_S} --deadline ${AN_HOUR_S}`, {
      clock: openQuickClock(HURRY),
      env,
    });
    expect(code).not.toBe(0);
  },
);

it('sends the token only to the origins of the service and the push channel', async () => {
  const stranger = await openServer((response) => sendJson(response, 404, {}));
  const { url } = await openServer(
    (response) => void response.writeHead(302, { location: `${stranger.url}/bicycles/` }).end(),
  );
  await settle(service(), { base_url: url, sse_url: url });
  await examine();
  expect(stranger.asked).toEqual([]);
});

it('reports an expired login once, and sends no token', async () => {
  let nowMs = Date.now();
  const sandbox = await openSandbox({ bicycles: 5, service: 'interface', now: () => nowMs });
  const env = { FLEET_CONFIG_DIR: newFolder(), FLEET_SSE_URL: sandbox.sseUrl };
  const now = () => nowMs;
  const flags = ['--password-stdin', '--base-url', sandbox.baseUrl];
  await runFleet(['auth', 'login', '--email', 'operator@example.com', ...flags], {
    env,
    now,
    stdin: 'x',
  });
  nowMs += 60 * 60_000;
  const before = sandbox.requests.length;
  const { code, wrong, stderr } = await examine('', { env, now });
  const failures = wrong.filter((line) => line.startsWith('failure'));
  expect([code, failures]).toEqual([4, ['failure token']]);
  expect(stderr).toContain('run \\"fleet auth login --email operator@example.com');
  const sent = sandbox.requests.slice(before).map(({ headers }) => headers['authorization']);
  expect(sent.filter((header) => header !== undefined)).toEqual([]);
});

it('`doctor` sends requests for at most 10 s in total, even when response bodies never end', async () => {
  const endless = await openServer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(timer));
  });
  const env = { ...endless.env, FLEET_SSE_URL: endless.url };
  // Without the limit of 10 s, the command would outlast the test.
  const run = await fleet(`doctor --json --timeout 30 --deadline ${AN_HOUR_S}`, {
    env,
    clock: openQuickClock(HURRY),
  });
  expect(run.code).not.toBe(0);
});
