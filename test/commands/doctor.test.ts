// Tests `fleet doctor` with the sandbox and with faulty services, networks and settings.

import { chmod, readFile, writeFile } from 'node:fs/promises';
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
import { openSandbox, useSandbox } from '../support/sandbox.js';
import { type Answer, openServer, sendJson } from '../support/server.js';

const service = useSandbox({ bicycles: 30 });

/** Clock speed: four seconds of waiting take one second. */
const HURRY = 4;

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
  it('prints one line per finding, in the order in which a command needs them', async () => {
    const { code, stdout, stderr } = await fleet('doctor');
    expect([code, stderr]).toEqual([0, 'no problems found\n']);
    const masked = stdout
      .replace(/\d+ ms/g, 'N ms')
      .replaceAll(folder, 'FOLDER')
      .replaceAll(service().baseUrl, 'BASE')
      .replaceAll(service().sseUrl, 'PUSH')
      .replace(/\d+ bicycles/g, 'N bicycles')
      .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UUID')
      .replace(/version .*, npm package, Node .*/, 'version V')
      .replace(/ends in .*?;/, 'ends in T;');
    expect(masked).toBe(`OUTCOME  CHECK          FINDING
ok       fleet          version V
ok       settings file  FOLDER/config.json, 1 profile
ok       profile        sandbox (FOLDER/config.json)
ok       base_url       BASE (profile "sandbox")
ok       sse_url        PUSH (profile "sandbox")
ok       organization   UUID (profile "sandbox")
ok       token          stored by sandbox; it ends in T; claims role, affs, sub, jti, iat, exp
ok       proxy          service is reached directly: no proxy is set
ok       http           GET /bicycles/ answered 200 in N ms, request UUID
ok       clock          the same as the service, within a minute
ok       prefix         N bicycles at BASE
ok       version        1.0 is supported; the service is sandbox-1.0.0
ok       proxy          push is reached directly: no proxy is set
ok       push           subscribed as admin after N ms
`);
    for (let tries = 0; service().streamCount() > 0 && tries < 100; tries++)
      await new Promise((go) => setTimeout(go, 10));
    expect(service().streamCount()).toBe(0);
  });

  it('prints JSON, JSON lines and the output of a jq program', async () => {
    const { code, findings } = await examine();
    expect(code).toBe(0);
    for (const finding of findings)
      expect(Object.keys(finding)).toEqual(['check', 'outcome', 'finding', 'next']);
    expect((await fleet('doctor -o jsonl --timeout 2')).stdout.trimEnd().split('\n')).toHaveLength(
      findings.length,
    );
    expect((await fleet('doctor --json --timeout 2 --jq length')).stdout).toBe(
      `${findings.length}\n`,
    );
    expect((await fleet('doctor -o uuid')).code).toBe(2);
  });

  it.each([60, 100])('fits %i columns of a terminal', async (columns) => {
    const env = { FLEET_SSE_URL: 'http://push.example.com' };
    const { stdout } = await fleet('doctor --no-color', { terminal: { columns }, env });
    expect(
      stdout.split('\n').filter((line) => line.length > columns && !/\S{30}/.test(line)),
    ).toEqual([]);
    expect(stdout).toMatch(/^✗ +sse_url/m);
    expect(stdout).toContain('use https');
  });

  it('changes nothing and never prints the token', async () => {
    const before = await readFile(join(folder, 'config.json'), 'utf8');
    const run = await fleet('doctor --verbose');
    expect(await readFile(join(folder, 'config.json'), 'utf8')).toBe(before);
    const { tokens } = JSON.parse(await readFile(join(folder, 'credentials.json'), 'utf8'));
    expect(run.stdout + run.stderr).not.toContain(tokens.sandbox);
  });
});

describe('`doctor` and the settings', () => {
  it('reports missing settings', async () => {
    const { code, wrong, find, stderr } = await examine('', {
      env: { FLEET_CONFIG_DIR: join(folder, 'nowhere') },
    });
    expect(code).toBe(3);
    expect(wrong).toEqual([
      'failure base_url',
      'failure token',
      'warning sse_url',
      'warning organization',
    ]);
    expect(find('base_url')?.next).toContain('fleet auth login');
    expect(JSON.parse(stderr)).toMatchObject({ error: { kind: 'config' } });
  });

  it('continues its checks with a broken settings file', async () => {
    await writeFile(join(folder, 'config.json'), '{"profiles": ', { mode: 0o600 });
    const env = { FLEET_BASE_URL: service().baseUrl, FLEET_TOKEN: await service().token() };
    const { code, wrong, find } = await examine('', { env });
    expect(code).toBe(3);
    expect(wrong).toEqual(['failure settings file', 'warning sse_url', 'warning organization']);
    expect(find('settings file')?.next).toContain('mv ');
    expect(find('prefix')?.outcome).toBe('ok');
    expect(await readFile(join(folder, 'config.json'), 'utf8')).toBe('{"profiles": ');
  });

  it('reports each invalid value', async () => {
    const env = { FLEET_SSE_URL: 'http://push.example.com', FLEET_OUTPUT: 'jsno' };
    const { code, wrong } = await examine('', { env });
    // --json sets the output format here.
    expect([code, wrong]).toEqual([3, ['failure sse_url']]);
    expect((await fleet('doctor', { env })).stdout).toContain(
      'failure  output         FLEET_OUTPUT: "jsno" is not a format',
    );
  });

  it('warns about files that other users can read', async () => {
    await chmod(join(folder, 'credentials.json'), 0o644);
    const { code, wrong, find, stderr } = await examine();
    expect([code, wrong]).toEqual([0, ['warning file modes']]);
    expect(find('file modes')?.next).toBe(`chmod 600 ${folder}/credentials.json`);
    const notices = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(notices.at(-1)).toEqual({ notice: '1 warning, no failure' });
  });

  it('exits with 2 for an invalid flag', async () => {
    expect((await fleet('doctor --timeout soon')).code).toBe(2);
  });
});

it.each<[string, number, string, number]>([
  ['that the service refuses is a failure', 403, 'failure organization', 3],
  ['without any bicycle is a warning: it may be new', 200, 'warning organization', 0],
])('reports an organization %s', async (_what, status, expected, code) => {
  const { url } = await openServer((response, { path }) =>
    sendJson(response, path.includes('organization=') ? status : 200, []),
  );
  const run = await examine('', { env: { FLEET_BASE_URL: url } });
  expect([run.code, run.wrong]).toEqual([code, [expected]]);
});

it('fails when the service cannot look up the name of the organization', async () => {
  const { url } = await openServer((response, { path }) =>
    sendJson(response, path.includes('organ') ? 500 : 200, []),
  );
  const env = { FLEET_BASE_URL: url, FLEET_ORGANIZATION: 'Nordlicht' };
  expect(await examine('', { env })).toMatchObject({ code: 7, wrong: ['failure organization'] });
});

const OTHER = '11111111-2222-4333-8444-555555555555';
const BIKES = 'https://bikes.example.com/api';
const PROXY = 'http://127.0.0.1:1';

it.each<[string, NodeJS.ProcessEnv, number, RegExp[]]>([
  [
    'a profile that is not there',
    { FLEET_PROFILE: 'sandbx' },
    3,
    [/^failure profile: .* > did you mean "sandbox"\?/],
  ],
  [
    "somebody else's organization",
    { FLEET_ORGANIZATION: OTHER },
    3,
    [
      /^failure organization: 1.* has no bicycles for this token, which sees .* > export FLEET_ORGANIZATION=UUID\n/,
      /^ok prefix/m,
    ],
  ],
  [
    'an unknown name of an organization',
    { FLEET_ORGANIZATION: 'Nordlich Bikes' },
    5,
    [
      /^failure organization: no organization is named "Nordlich Bikes" > did you mean "Nordlicht Bikes"\?/,
    ],
  ],
  [
    'an organization by its name',
    { FLEET_ORGANIZATION: 'Nordlicht Bikes' },
    0,
    [/^ok push: subscribed/m],
  ],
  [
    'a token command that fails',
    { FLEET_TOKEN_COMMAND: 'exit 3' },
    3,
    [/^failure token: .*exit code 3/],
  ],
  [
    'a token that the service does not know',
    { FLEET_TOKEN: 'opaque-token' },
    4,
    [
      /^ok token/m,
      /^failure access: .* > FLEET_TOKEN is set, so fleet uses no other token.*unset FLEET_TOKEN$/m,
    ],
  ],
  [
    'a version',
    { FLEET_API_VERSION: '9' },
    6,
    [/^failure version: .* > export FLEET_API_VERSION=1\.0/],
  ],
  [
    'nobody listens',
    { FLEET_BASE_URL: PROXY },
    8,
    [/^failure http: .*connection refused/, /^ok push/m],
  ],
  [
    'no such host',
    { FLEET_BASE_URL: 'https://nobody.invalid' },
    8,
    [/^failure http: .*nobody\.invalid/],
  ],
  [
    'a dead proxy, its address without a scheme',
    { FLEET_BASE_URL: BIKES, HTTPS_PROXY: '127.0.0.1:1' },
    8,
    [
      /^failure http: cannot reach .*: the proxy cannot be reached > .*runs, or unset it/,
      /^ok proxy: service is reached through http:\/\/127\.0\.0\.1:1 \(HTTPS_PROXY\)/m,
    ],
  ],
  [
    'an invalid proxy',
    { FLEET_BASE_URL: BIKES, HTTPS_PROXY: 'socks5://127.0.0.1:1' },
    3,
    [/^failure proxy/],
  ],
  [
    'an invalid proxy that is not used',
    { HTTPS_PROXY: 'socks5://127.0.0.1:1' },
    0,
    [/^ok proxy: service is/m],
  ],
])('checks %s', async (_what, env, code, expected) => {
  const run = await examine('', { env: { PATH: process.env['PATH'], ...env } });
  expect(run.code).toBe(code);
  for (const words of expected) expect(run.lines).toMatch(words);
});

describe('`doctor` and the token', () => {
  it('reports an expired token and its refusal by the service', async () => {
    const token = await service().token({ expiresInSeconds: -60 });
    const { code, wrong, find } = await examine('', { env: { FLEET_TOKEN: token } });
    expect(code).toBe(4);
    expect(wrong).toEqual(['failure token', 'failure access', 'failure push']);
    expect(find('token')).toMatchObject({
      finding: expect.stringContaining('expired'),
      next: expect.stringContaining('FLEET_TOKEN'),
    });
    expect(find('prefix')?.outcome).toBe('ok');
  });

  it('warns about a token that expires soon', async () => {
    const { wrong } = await examine('', { now: () => Date.now() + (12 * 60 - 3) * 60_000 });
    expect(wrong).toContain('warning token');
  });

  it('reports a token command that takes too long', async () => {
    const env = { FLEET_TOKEN_COMMAND: 'sleep 20', PATH: process.env['PATH'] };
    expect((await examine('--timeout 0.2', { env })).lines).toMatch(
      /^failure token: .*gave no token within 0.2 s/m,
    );
  });
});

describe('`doctor` and the URL prefix', () => {
  it.each([
    ['missing', '/api', '', ''],
    ['one too many', '', '', '/api'],
    ['another one', '/api', '', '/v2'],
  ])('finds the correct prefix: %s', async (_what, prefix, _unused, given) => {
    const sandbox = await openSandbox({ bicycles: 5, prefix });
    const origin = new URL(sandbox.baseUrl).origin;
    await settle(sandbox, { base_url: origin + given });
    const { code, wrong, find } = await examine();
    expect([code, wrong]).toEqual([5, ['failure prefix']]);
    expect(find('prefix')?.next).toBe(
      `fleet config set base_url ${origin}${prefix} --profile sandbox`,
    );
    const env = { FLEET_BASE_URL: origin + given };
    expect((await examine('', { env })).find('prefix')?.next).toBe(
      `export FLEET_BASE_URL=${origin}${prefix}`,
    );
  });

  it.each<[string, Answer, number, string]>([
    [
      'an HTML page',
      (response) =>
        void response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Welcome</title>'),
      7,
      'HTML page "Welcome"',
    ],
    [
      '404 everywhere',
      (response) => sendJson(response, 404, {}),
      5,
      'answers 404 instead of bicycles',
    ],
    [
      'JSON that is not a list',
      (response) => sendJson(response, 200, { hello: 1 }),
      7,
      'something that is not a list',
    ],
    [
      'a redirect',
      (response) => void response.writeHead(302, { location: 'https://elsewhere.example/' }).end(),
      7,
      'a redirect to https://elsewhere.example/',
    ],
    [
      'an error of the service',
      (response) => sendJson(response, 503, { detail: 'down' }),
      7,
      'down',
    ],
  ])('reports a service with %s', async (_what, answer, code, words) => {
    const { url } = await openServer(answer);
    const run = await examine('', { env: { FLEET_BASE_URL: url } });
    expect(run.code).toBe(code);
    expect(run.findings.find(({ outcome }) => outcome === 'failure')?.finding).toContain(words);
  });
});

it.each([
  [3_605_000, '1 h'],
  [-120_000, 'behind the service'],
])('warns about a clock that is off by %i ms', async (offset, words) => {
  const { find } = await examine('', { now: () => Date.now() + offset });
  expect(find('clock')).toMatchObject({
    outcome: 'warning',
    finding: expect.stringContaining(words),
  });
});

describe('`doctor` and the network', () => {
  it('waits no longer than --timeout for a silent service', async () => {
    const { url } = await openServer(() => {});
    const { code, find } = await examine('--timeout 0.3', { env: { FLEET_BASE_URL: url } });
    expect([code, find('http')?.outcome]).toEqual([8, 'failure']);
  });

  it.each<[string, Answer]>([
    [
      'an answer that is compressed',
      (response) =>
        response
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
          .end(gzipSync('[]')) && undefined,
    ],
    [
      'a redirect within the origin, which every command follows',
      (response, { path }) =>
        path.startsWith('/v2/')
          ? sendJson(response, 200, [])
          : void response.writeHead(301, { location: `/v2${path}` }).end(),
    ],
  ])('accepts %s', async (_what, answer) => {
    const { url } = await openServer(answer);
    const { find } = await examine('', { env: { FLEET_BASE_URL: url } });
    expect(find('prefix')?.outcome).toBe('ok');
  });

  it('`doctor` shows the proxy, the hosts that use it, and its errors', async () => {
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
  it('waits no longer than the timeout when the push URL redirects to a silent server', async () => {
    const { url } = await openServer((response, { path }) => {
      if (!path.startsWith('/slow')) response.writeHead(302, { location: '/slow' }).end();
    });
    await settle(service(), { sse_url: url });
    const patience = new Promise((resolve) => setTimeout(resolve, 5000, 'still waiting').unref());
    const examined = await Promise.race([examine('--timeout 1'), patience]);
    expect(examined).toMatchObject({ code: 8, wrong: ['failure push'] });
  });

  it('fails when the push URL is the URL of the API', async () => {
    await settle(service(), { sse_url: service().baseUrl });
    const { code, find } = await examine();
    expect([code, find('push')?.outcome]).toEqual([5, 'failure']);
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
  ])('reports a push channel with %s', async (_what, answer, words) => {
    const { url } = await openServer(answer);
    await settle(service(), { sse_url: url });
    const { find } = await examine('--timeout 0.5');
    expect(find('push')).toMatchObject({
      outcome: 'failure',
      finding: expect.stringContaining(words),
    });
  });

  const withoutOrganization = async () => ({
    FLEET_BASE_URL: service().baseUrl,
    FLEET_SSE_URL: service().sseUrl,
    FLEET_TOKEN: await service().token(),
    FLEET_CONFIG_DIR: join(folder, 'nowhere'),
  });

  it('tries the push channel with an organization of the token when the settings name no organization', async () => {
    const { code, find } = await examine('', { env: await withoutOrganization() });
    expect([code, find('push')]).toEqual([0, expect.objectContaining({ outcome: 'ok' })]);
    expect(find('organization')).toMatchObject({
      finding: expect.stringContaining('the token names 2'),
      next: expect.stringContaining('fleet config set organization NAME'),
    });
  });

  it.each([['a JWT'], ['no JWT']])(
    'exits with 8 for an unreachable push channel without an organization, with %s',
    async (kind) => {
      const own = {
        FLEET_SSE_URL: 'http://127.0.0.1:9',
        ...(kind === 'a JWT' ? {} : { FLEET_TOKEN: 'opaque' }),
      };
      const { code, find } = await examine('', {
        env: { ...(await withoutOrganization()), ...own },
      });
      expect(find('push')).toMatchObject({
        outcome: 'failure',
        finding: expect.stringContaining('connection refused'),
      });
      expect(code).toBe(kind === 'a JWT' ? 8 : 4);
    },
  );
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
    { FLEET_TOKEN_COMMAND: 'sleep 30' },
  ],
])('waits at most 10 s for a service and a push channel %s', async (_case, behaviour, env) => {
  const { url } = await openMisbehaving(behaviour);
  await settle(service(), { base_url: url, sse_url: url });
  const clock = openQuickClock(HURRY);
  const startedAt = clock.monotonicMs();
  const { code } = await fleet('doctor', { clock, env });
  expect(code).not.toBe(0);
  expect(clock.monotonicMs() - startedAt).toBeLessThan(16_000);
});

it('sends the token only to the origins of the service and the push channel', async () => {
  const stranger = await openServer((response) => sendJson(response, 404, {}));
  const { url } = await openServer(
    (response) => void response.writeHead(302, { location: `${stranger.url}/bicycles/` }).end(),
  );
  await settle(service(), { base_url: url, sse_url: url });
  await examine();
  expect(stranger.asked).toEqual([]);
});

it('reports an expired login once and sends no placeholder instead of its token', async () => {
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

it('sends requests for at most 10 s in total, also when response bodies never end', async () => {
  const endless = await openServer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(timer));
  });
  const env = { ...endless.env, FLEET_SSE_URL: endless.url };
  const clock = openQuickClock(HURRY);
  const startedAt = clock.monotonicMs();
  const run = await fleet('doctor --json --timeout 30 --deadline 300', { env, clock });
  expect(clock.monotonicMs() - startedAt).toBeLessThan(12_500);
  expect(run.code).not.toBe(0);
});

it('lists all organizations of a token', async () => {
  const { baseUrl, sseUrl, organizations } = service();
  const env = {
    FLEET_BASE_URL: baseUrl,
    FLEET_SSE_URL: sseUrl,
    FLEET_TOKEN: await service().token(),
    FLEET_CONFIG_DIR: join(folder, 'nowhere'),
  };
  const { find } = await examine('', { env });
  for (const { name, uuid } of organizations)
    expect(find('organization')?.finding).toContain(`${uuid} (${name})`);
});

it('prints a complete sentence as the last hint', async () => {
  const env = { FLEET_BASE_URL: 'bikes.example.com', FLEET_CONFIG_DIR: join(folder, 'nowhere') };
  const run = await fleet('doctor', { env });
  expect(run.stderr).toContain('hint: did you mean https://bikes.example.com?');
  expect(run.stderr).not.toContain('start with');
});
