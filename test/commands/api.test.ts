// Tests `fleet api` where only code shows the case: bytes, headers, secrets and properties. The
// transcripts in test/transcripts/api show its requests, output and errors.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readAddress } from '../../src/commands/api/address.js';
import { bodyOf, textField, typedField } from '../../src/commands/api/fields.js';
import type { FleetError } from '../../src/errors.js';
import { systemClock } from '../../src/system/clock.js';
import { newFolder } from '../support/folder.js';
import { findControls } from '../support/naughty.js';
import { often } from '../support/often.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { type Answer, openServer, sendJson } from '../support/server.js';

const folder = newFolder();

function fileOf(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** Runs `fleet api ARGS` against a server with this answer. */
async function fleet(
  answer: Answer,
  args: readonly string[],
  options: RunOptions & { prefix?: string } = {},
) {
  const { url, asked } = await openServer(answer);
  const env = {
    FLEET_BASE_URL: url + (options.prefix ?? ''),
    FLEET_TOKEN: 'secret-token',
    ...options.env,
  };
  return { ...(await runFleet(['api', ...args], { ...options, env })), asked, url };
}

const fine: Answer = (response) => sendJson(response, 200, { fine: true });

test('`api --include` redacts the token in response headers', async () => {
  const token = 'a-token-of-some-length';
  for (const status of [200, 404]) {
    const repeat: Answer = (response) => sendJson(response, status, {}, { 'x-echo': token });
    const { stdout, stderr } = await fleet(repeat, ['/x/', '-i'], { env: { FLEET_TOKEN: token } });
    expect(stdout).toContain('x-echo: [hidden]');
    expect(stdout + stderr).not.toContain(token);
  }
});

describe('the request that `api` sends', () => {
  const BODY = fileOf('body.json', '{"n": 1.50}\n');
  const LIST = fileOf('list.json', '[1]');
  test.each([
    ['/bicycles/?page=2', 'GET /bicycles/?page=2', ''],
    ['bicycles/', 'GET /bicycles/', ''],
    ['/bicycles/?bbox=1,2,3,4&x=a%20b', 'GET /bicycles/?bbox=1,2,3,4&x=a%20b', ''],
    ['/x/ -X delete', 'DELETE /x/', ''],
    [
      '/x/ -X GET -f state=new -F state=escalated -F page=2',
      'GET /x/?state=escalated&page=2&state=new',
      '',
    ],
    ['/x/ -f type=rent', 'POST /x/', '{"type":"rent"}'],
    [`/x/ --input ${BODY}`, 'POST /x/', '{"n": 1.50}\n'],
    [`/x/ --input ${LIST} -f dry=yes`, 'POST /x/?dry=yes', '[1]'],
  ])('sends %s', async (args, line, body) => {
    const { code, asked } = await fleet(fine, args.split(' '));
    expect(code).toBe(0);
    expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([line]);
    expect(asked[0]?.body).toBe(body);
    expect(asked[0]?.headers.authorization).toBe('JWT secret-token');
    expect(asked[0]?.headers['content-type']).toBe(body === '' ? undefined : 'application/json');
  });

  test('`api` sends a header with any name, even __proto__', async () => {
    const names = ['__proto__: x', 'constructor: y', '__proto__: w'];
    let head: readonly string[] = [];
    const answer: Answer = (response) => {
      head = response.req.rawHeaders;
      sendJson(response, 200, {});
    };
    expect((await fleet(answer, ['/x/', ...names.flatMap((line) => ['-H', line])])).code).toBe(0);
    expect(head.join('\n')).toMatch(/^__proto__\nx, w$/m);
    expect(head.join('\n')).toMatch(/^constructor\ny$/m);
  });

  test('`api` sends the headers given with -H', async () => {
    const headers = ['Accept: text/csv', 'X-Test: one', 'x-test:two', 'Content-Type: text/plain'];
    const input = fileOf('plain.txt', 'no json');
    const { asked } = await fleet(fine, [
      '/x/',
      ...headers.flatMap((line) => ['-H', line]),
      '--input',
      input,
    ]);
    expect(asked[0]?.headers).toMatchObject({
      accept: 'text/csv',
      'x-test': 'one, two',
      'content-type': 'text/plain',
    });
    expect(asked[0]?.body).toBe('no json');
  });
});

describe('`api` rejects invalid arguments before it sends anything (exit 2)', () => {
  test.each([
    [['/x/', '-H', 'X-A: b\r\nX-C: d'], 'a header must have the form "Name: value"'],
    [['/x/', '--input', fileOf('latin1.json', Uint8Array.of(0x22, 0xfc, 0x22))], 'not UTF-8 text'],
  ])('rejects %j', async (args, words) => {
    const { code, stdout, stderr, asked } = await fleet(fine, args, { prefix: '/api' });
    expect({ code, stdout, asked: asked.length }).toEqual({ code: 2, stdout: '', asked: 0 });
    expect(stderr).toContain(words);
  });

  test('`api` never sends a request outside the base URL (property-based)', () => {
    const base = new URL('https://service.example/api');
    const pieces = '/ \\ .. . %2e %2E%2e @ : ? # https: evil.example a ;'.split(' ');
    const piece = fc.constantFrom(...pieces, '\t', '\n');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
          fc.string(),
        ),
        (path) => {
          try {
            const { path: found, isFromOrigin } = readAddress(path, base);
            const url = new URL((isFromOrigin === true ? base.origin : base.href) + found);
            expect(url.origin).toBe(base.origin);
            if (isFromOrigin !== true) expect(url.pathname.startsWith('/api/')).toBe(true);
          } catch (error) {
            expect((error as FleetError).kind).toBe('usage');
          }
        },
      ),
      { numRuns: often(2_000) },
    );
  });

  test('`api` builds a JSON object from the values of --field (property-based)', () => {
    const name = fc.stringMatching(/^[a-z_]{1,8}$/);
    fc.assert(
      fc.property(fc.dictionary(name, fc.string(), { noNullPrototype: true }), (values) => {
        const fields = Object.entries(values).map(([key, value]) => textField(key, value));
        expect(JSON.parse(bodyOf(fields))).toEqual(values);
      }),
    );
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string(), fc.double().map(String)), (value) => {
        expect(Object.keys(JSON.parse(bodyOf([typedField('a', value)])))).toEqual(['a']);
      }),
    );
  });
});

describe('the output of `api`', () => {
  test('-i prints status, headers and body, and hides secrets', async () => {
    const { stdout } = await fleet(
      (response) =>
        sendJson(response, 201, { a: 1 }, { 'set-cookie': 'session=1', 'x-hostile': 'a\u009bb' }),
      ['/x/', '-i'],
    );
    expect(stdout).toMatch(/^HTTP\/1\.1 201 Created\n/);
    expect(stdout).toContain('x-service-requestid: request-1\n');
    expect(stdout).toContain('set-cookie: [hidden]\n');
    expect(stdout).toMatch(/\n\n\{"a":1\}\n$/);
    expect(findControls(stdout.replaceAll('\n', ''))).toEqual([]);
  });

  test.each(['X-Gateway-Auth', 'Ocp-Apim-Subscription-Key', 'X-Amz-Access-Key', 'X-Api-Key'])(
    'hides the header %s with -v and -i',
    async (name) => {
      const { stdout, stderr } = await fleet(
        (response) => sendJson(response, 200, {}, { [name]: 'k7Qz' }),
        ['/x/', '-v', '-i', '-H', `${name}: k8Qz`],
      );
      expect(stdout + stderr).toContain(`${name.toLowerCase()}: [hidden]`);
      expect(stdout + stderr).not.toMatch(/k[78]Qz/);
    },
  );

  test('-i shows the www-authenticate header', async () => {
    const answer: Answer = (response) =>
      sendJson(response, 200, {}, { 'WWW-Authenticate': 'JWT realm="api"' });
    expect((await fleet(answer, ['/x/', '-i'])).stdout).toContain('JWT realm="api"');
  });

  test.each(['token', 'access_token', 'api_key', 'X-Amz-Signature', 'sig', 'client_secret'])(
    'hides the query parameter %s of a next page with -v and --trace',
    async (name) => {
      const { stderr } = await fleet(
        (response, { path }) =>
          sendJson(
            response,
            200,
            {
              count: 2,
              next: path.includes('page=2') ? null : `?page=2&${name}=k7Qz#a`,
              results: [{ uuid: path }],
            },
            { Location: `/y/?a=1&${name}=k7Qz` },
          ),
        ['/x/?design=ok', '-v', '--trace', '--paginate'],
      );
      expect(stderr).toContain('?design=ok');
      expect(stderr).toContain(`page=2&${name}=[hidden]`);
      expect(stderr).not.toContain('k7Qz');
    },
  );

  test('prints nothing for a response without a body', async () => {
    const nothing: Answer = (response) => void response.writeHead(204).end();
    expect(await fleet(nothing, ['/x/', '-X', 'DELETE'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect((await fleet(nothing, ['/x/', '-X', 'HEAD', '-i'])).stdout).toMatch(
      /^HTTP\/1\.1 204 No Content\n/,
    );
  });

  const BYTES = Buffer.from(Array.from({ length: 1024 }, (_, index) => index % 256));
  const image: Answer = (response) => {
    response.writeHead(200, { 'content-type': 'image/png' });
    response.end(BYTES);
  };

  test('writes a non-JSON body unchanged to a pipe', async () => {
    const chunks: Buffer[] = [];
    const { url } = await openServer(image);
    const { main } = await import('../../src/main.js');
    const { Readable, Writable } = await import('node:stream');
    const { EventEmitter } = await import('node:events');
    const sink = () =>
      new Writable({
        write(chunk: Buffer, _, done) {
          chunks.push(chunk);
          done();
        },
      });
    await main(['api', '/x.png'], {
      stdin: Readable.from(['']),
      stdout: sink(),
      stderr: sink(),
      env: {
        FLEET_BASE_URL: url,
        FLEET_TOKEN: 'secret-token',
        FLEET_CONFIG_DIR: '/nonexistent/fleet-tests',
      },
      signals: new EventEmitter(),
      clock: systemClock(),
    });
    expect(Buffer.concat(chunks).equals(BYTES)).toBe(true);
  });

  test('escapes text and omits binary data on a terminal', async () => {
    const terminal = { columns: 80 };
    const shown = await fleet(image, ['/x.png'], { terminal });
    expect(shown.stdout).toBe('');
    expect(shown.stderr).toContain('1024 bytes (image/png) are not shown on a terminal');
    const csv: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/csv' });
      response.end('a,\u001b[31mb\r\n1,2');
    };
    expect((await fleet(csv, ['/x'], { terminal })).stdout).toBe('a,␛[31mb\n1,2\n');
  });

  test('`api` fails when it expects JSON but receives an invalid response', async () => {
    const html: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<html><title>Login</title></html>');
    };
    expect((await fleet(html, ['/x'])).stdout).toContain('<title>');
    const asked = await fleet(html, ['/x', '--jq', '.']);
    expect(asked).toMatchObject({ code: 7, stdout: '' });
    expect(asked.stderr).toContain('an HTML page "Login"');
    expect((await fleet((response) => sendJson(response, 200, '{"a":'), ['/x'])).code).toBe(7);
  });
});

describe('errors of `api`', () => {
  test('-i prints the complete response when the status is an error', async () => {
    const run = await fleet(
      (response) => sendJson(response, 409, { detail: 'not so', more: [1] }),
      ['/x/', '-i', '-f', 'a=b'],
    );
    expect(run.code).toBe(6);
    expect(run.stdout).toMatch(
      /^HTTP\/1\.1 409 Conflict\n[\s\S]*\n\n\{"detail":"not so","more":\[1\]\}$/,
    );
    expect(run.stderr).toContain('not so');
  });
});
