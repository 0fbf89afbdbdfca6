// Tests secrets in the answers of a service at the positions where an error or a log cuts its text.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { openServer } from '../support/server.js';

const TOKEN = `eyJhbGciOiJIUzI1NiJ9.${'eyJzdWIiOiJ4In0'.repeat(6)}.${'c2lnbmF0dXJl'.repeat(4)}`;
const encoded = [...TOKEN].map((sign) => `%${sign.charCodeAt(0).toString(16)}`).join('');

test.each([
  ['as text', TOKEN],
  ['in percent encoding', encoded],
])('hides a token %s in a non-JSON response with status 200', async (_, written) => {
  const { url } = await openServer((response) => {
    response.writeHead(200, { 'Content-Type': 'text/plain' }).end(`oops ${written}`);
  });
  const env = { FLEET_BASE_URL: url, FLEET_TOKEN: TOKEN };
  const run = await runFleet(['bicycles', 'list'], { env });
  expect([run.code, run.stderr]).toEqual([7, expect.stringMatching(/oops %?\[hidden\]/)]);
  expect(run.stderr).not.toContain(written.slice(0, 12));
});

test('-v hides the header values of a login response', async () => {
  const { url } = await openServer((response) => {
    response
      .writeHead(200, { 'Content-Type': 'application/json', 'X-Next': TOKEN })
      .end(JSON.stringify({ token: TOKEN }));
  });
  const args = ['auth', 'login', '--email', 'a@example.com', '--password-stdin', '-v'];
  const run = await runFleet([...args, '--base-url', url], {
    env: { FLEET_CONFIG_DIR: newFolder() },
    stdin: Readable.from(['a long password\n']),
  });
  expect(run.stderr).toContain('x-next: [hidden]');
  expect(run.stderr).not.toContain(TOKEN.slice(0, 12));
});

test('does not show response headers that may repeat a rejected password', async () => {
  const { url } = await openServer((response) => {
    const damaged = '?ecret words 9?';
    response
      .writeHead(400, {
        'Content-Type': `text/plain; charset=${damaged.replaceAll(' ', '')}`,
        'X-Service-RequestId': damaged,
        'X-Service-From': damaged,
        'X-Service-Version': damaged,
        Server: damaged,
      })
      .end('no');
  });
  const args = ['auth', 'login', '--email', 'a@example.com', '--password-stdin', '-v', '--trace'];
  for (const more of [[], ['--json']]) {
    const run = await runFleet([...args, ...more, '--base-url', url], {
      env: { FLEET_CONFIG_DIR: newFolder() },
      stdin: Readable.from(['Secret words 9!\n']),
    });
    expect(run.code).toBe(4);
    expect(run.stderr).not.toMatch(/ecret ?words/);
  }
});

test('shows a UUID request id after a refused login', async () => {
  const id = '2d25d0a0-6c1c-4d0f-9f57-3d7b5b1d5f0e';
  const { url } = await openServer((response) => {
    response.writeHead(400, { 'X-Service-RequestId': id }).end('no');
  });
  const run = await runFleet(
    ['auth', 'login', '--email', 'a@example.com', '--password-stdin', '--base-url', url],
    { env: { FLEET_CONFIG_DIR: newFolder() }, stdin: Readable.from(['Secret words 9!\n']) },
  );
  expect(run.stderr).toContain(`request ${id}`);
});

test.each([
  ['a password', ['-f', 'password=Two words 9', '-f', 'email=a@example.com']],
  ['a new password', ['-f', 'new_password1=Two words 9']],
  ['a secret in a list', ['--input', '-']],
])('`api` does not quote the response to a request with %s', async (_what, fields) => {
  const { url } = await openServer((response) => {
    response
      .writeHead(400, { 'Content-Type': 'application/json' })
      .end('{"detail": "not valid: T-w-o w-o-r-d-s 9"}');
  });
  const run = await runFleet(['api', '/users/', '-X', 'POST', '-v', ...fields], {
    env: { FLEET_BASE_URL: url, FLEET_TOKEN: TOKEN },
    stdin: Readable.from(['[{"client_secret": "Two words 9"}]']),
  });
  expect(run.code).toBe(6);
  expect(run.stderr).toContain('its answer is not shown');
  expect(run.stderr).not.toMatch(/T-w-o|Two words/);
});

const FORM = ['-H', 'Content-Type: application/x-www-form-urlencoded'];
const XML = ['-H', 'Content-Type: application/xml'];
const YAML = ['-H', 'Content-Type: application/yaml'];
const PARTS = ['-H', 'Content-Type: multipart/form-data; boundary=a'];

test.each([
  ['a form', FORM, 'email=a%40example.com&password=Two+words+9'],
  ['a form with an encoded name', FORM, 'user%5Bpassword%5D=Two+words+9'],
  ['an XML element', XML, '<login><password>Two words 9</password></login>'],
  ['an XML attribute', XML, '<login password="Two words 9"/>'],
  ['YAML', YAML, 'password: Two words 9\n'],
  [
    'a multipart body',
    PARTS,
    '--a\r\nContent-Disposition: form-data; name="password"\r\n\r\nTwo words 9\r\n--a--',
  ],
  ['JSON with an escaped name', [], '{"p\\u0061ssword": "Two words 9"}'],
  ['JSON with the name api_key', [], '{"api_key": "Two words 9"}'],
  ['JSON with the name privateKey', [], '{"service": {"privateKey": "Two words 9"}}'],
  ['JSON with the name pwd', [], '{"pwd": "Two words 9"}'],
])('`api` hides a response that may quote a password sent in %s', async (_format, flags, body) => {
  const { url } = await openServer((response, asked) => {
    response.writeHead(400, { 'Content-Type': 'text/plain' }).end(`not valid: ${asked.body}`);
  });
  const run = await runFleet(
    ['api', '/login/', '-X', 'POST', '-v', '-i', '--input', '-', ...flags],
    { env: { FLEET_BASE_URL: url, FLEET_TOKEN: TOKEN }, stdin: Readable.from([body]) },
  );
  expect([run.code, run.stderr]).toEqual([6, expect.stringContaining('its answer is not shown')]);
  expect(run.stdout + run.stderr).not.toMatch(/Two.words/);
});

test('`api` never shows a query password that was read from stdin', async () => {
  const { url } = await openServer((response, { path }) => {
    const target = `https://other.example/?next=${encodeURIComponent(path)}`;
    response.writeHead(302, { Location: target }).end();
  });
  const run = await runFleet(['api', '/login/', '-X', 'GET', '-v', '-i', '-F', 'password=@-'], {
    env: { FLEET_BASE_URL: url, FLEET_TOKEN: TOKEN },
    stdin: Readable.from(['Two words 9']),
  });
  expect([run.code, run.stderr]).toEqual([7, expect.stringContaining('redirects')]);
  expect(run.stdout + run.stderr).not.toMatch(/Two.*words/);
});

test('`api -i` hides the value of a secret header that the response quotes', async () => {
  const { url } = await openServer((response, { headers }) => {
    response.writeHead(400, { 'Content-Type': 'text/plain' }).end(JSON.stringify(headers));
  });
  const run = await runFleet(['api', '/x/', '-i', '-H', 'X-Client-Secret: Two words 9'], {
    env: { FLEET_BASE_URL: url, FLEET_TOKEN: TOKEN },
  });
  expect(run.stdout).toContain('"x-client-secret":"[hidden]"');
  expect(run.stdout + run.stderr).not.toContain('Two words');
});

test('`api` quotes the response when a field name only resembles a secret', async () => {
  const { url } = await openServer((response) => {
    response.writeHead(400, { 'Content-Type': 'application/json' }).end('{"detail": "no"}');
  });
  const names = ['key', 'author', 'keyboard', 'spin', 'design', 'page_token', 'nextToken'];
  for (const name of names) {
    const run = await runFleet(['api', '/x/', '-f', `${name}=1`], {
      env: { FLEET_BASE_URL: url, FLEET_TOKEN: TOKEN },
    });
    expect([name, run.stderr]).toEqual([name, expect.stringContaining('POST /x/: no')]);
  }
});

test.each(['HTTP_PROXY', 'http_proxy'])(
  'hides the password of the proxy in %s when the proxy repeats it',
  async (variable) => {
    const { url } = await openServer((response, { headers }) => {
      const login = String(headers['proxy-authorization']);
      const decoded = Buffer.from(login.slice('Basic '.length), 'base64').toString();
      response.writeHead(502, { 'X-Login': login }).end(`bad login: ${login}, ${decoded}`);
    });
    const folder = newFolder();
    const profile = { base_url: 'http://service.example', allow_http: true };
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ profiles: { default: profile } }));
    for (const more of [[], ['-v'], ['--json']]) {
      const run = await runFleet(['bicycles', 'list', '--retries', '0', ...more], {
        env: {
          FLEET_CONFIG_DIR: folder,
          FLEET_TOKEN: TOKEN,
          [variable]: url.replace('//', '//bob:Two%20words9@'),
        },
      });
      expect([run.code, run.stderr]).toEqual([7, expect.stringContaining('bad login: ')]);
      expect(run.stderr).not.toMatch(/Two words9|Ym9iOlR3byB3b3Jkcz/);
    }
  },
);

test('hides the user name in a proxy address that has no password', async () => {
  const { url } = await openServer((response, { headers }) => {
    const login = String(headers['proxy-authorization']);
    const decoded = Buffer.from(login.slice('Basic '.length), 'base64').toString();
    response.writeHead(502).end(`bad key: ${login}, ${decoded}`);
  });
  const folder = newFolder();
  const profile = { base_url: 'http://service.example', allow_http: true };
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ profiles: { default: profile } }));
  const run = await runFleet(['bicycles', 'list', '--retries', '0'], {
    env: {
      FLEET_CONFIG_DIR: folder,
      FLEET_TOKEN: TOKEN,
      HTTP_PROXY: url.replace('//', '//key-51HqLyj2eZvK:@'),
    },
  });
  expect([run.code, run.stderr]).toEqual([7, expect.stringContaining('bad key: ')]);
  expect(run.stderr).not.toMatch(/51HqLyj|a2V5LTUxSHFMeWoy/);
});

test('hides the token from FLEET_TOKEN that is typed in the wrong place', async () => {
  // It is not a JWT, which is hidden everywhere.
  const token = '9944b09199c62bcf9418ad846dd0e4bb';
  for (const line of [
    [token],
    ['config', 'get', token],
    ['--profile', token, 'bicycles', 'list'],
  ]) {
    for (const more of [[], ['--json']]) {
      const run = await runFleet([...line, ...more], { env: { FLEET_TOKEN: `JWT ${token}\n` } });
      expect(run.code).toBeGreaterThan(0);
      expect(run.stderr).toContain('[hidden]');
      expect(run.stderr).not.toContain(token.slice(0, 10));
    }
  }
});

test('hides an unknown token that is typed in the wrong place', async () => {
  const token = '9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b';
  for (const line of [
    [token],
    ['auth', 'login', `--token=${token}`],
    ['auth', 'login', '--token', token],
    ['bicycles', 'list', `--token=${token}`],
    ['config', 'set', token, 'x'],
    ['profile', 'use', token],
    ['alias', 'set', token, 'x'],
    ['help', token],
    ['completion', token],
    ['bicycles', 'list', '--output', token],
  ]) {
    for (const more of [[], ['--json']]) {
      const run = await runFleet([...line, ...more], { env: { FLEET_CONFIG_DIR: newFolder() } });
      expect(run.code).toBeGreaterThan(0);
      expect([line, run.stderr]).toEqual([line, expect.not.stringContaining(token.slice(0, 10))]);
    }
  }
});
