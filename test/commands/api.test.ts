// Tests `fleet api` with small servers and the sandbox: requests, rejected arguments and output.

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

test('hides the token in response headers of --include', async () => {
  const token = 'a-token-of-some-length';
  for (const status of [200, 404]) {
    const repeat: Answer = (response) => sendJson(response, status, {}, { 'x-echo': token });
    const { stdout, stderr } = await fleet(repeat, ['/x/', '-i'], { env: { FLEET_TOKEN: token } });
    expect(stdout).toContain('x-echo: [hidden]');
    expect(stdout + stderr).not.toContain(token);
  }
});

describe('the request of `api`', () => {
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
    ['/x/ -X PUT -F a=1', 'PUT /x/', '{"a":1}'],
    ['/x/ -F a=12345678901234567890 -F b=1.50', 'POST /x/', '{"a":12345678901234567890,"b":1.50}'],
    ['/x/ -F c=true -F d=null -F e=007 -F f=', 'POST /x/', '{"c":true,"d":null,"e":"007","f":""}'],
    ['/x/ -f a=1 -f b=true -f c=@file', 'POST /x/', '{"a":"1","b":"true","c":"@file"}'],
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

  test('uses the prefix of the base URL for a path, and a complete URL at the same origin unchanged', async () => {
    const { asked } = await fleet(fine, ['/bicycles/'], { prefix: '/api' });
    expect(asked[0]?.path).toBe('/api/bicycles/');
    const server = await openServer(fine);
    const env = { FLEET_BASE_URL: `${server.url}/api`, FLEET_TOKEN: 'secret-token' };
    expect((await runFleet(['api', `${server.url}/other/?a=1`], { env })).code).toBe(0);
    expect(server.asked.map(({ path }) => path)).toEqual(['/other/?a=1']);
  });

  test('reads fields and the body from files and stdin', async () => {
    const args = ['/x/', '-F', `note=@${fileOf('note.txt', 'two\nlines "ü"')}`, '-F', 'more=@-'];
    expect((await fleet(fine, args, { stdin: 'from stdin' })).asked[0]?.body).toBe(
      JSON.stringify({ note: 'two\nlines "ü"', more: 'from stdin' }),
    );
    expect((await fleet(fine, ['/x/', '--input', '-'], { stdin: '{"a":1}' })).asked[0]?.body).toBe(
      '{"a":1}',
    );
  });

  test('explains a missing final slash in the hint', async () => {
    const answer: Answer = (response, { path }) =>
      void response.writeHead(301, { location: `http://elsewhere.example${path}/` }).end();
    const { code, stderr } = await fleet(answer, ['/bicycles/u1/actions', '-f', 'type=rent']);
    expect(code).toBe(7);
    expect(stderr).toContain('hint: the final slash is missing: /bicycles/u1/actions/');
  });

  test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'sends the method %s',
    async (method) => {
      let asked = '';
      const answer: Answer = (response, request) => {
        asked = request.method;
        response.writeHead(204).end();
      };
      expect((await fleet(answer, ['/x/', '-X', method.toLowerCase(), '-q'])).code).toBe(0);
      expect(asked).toBe(method);
    },
  );

  test('sends a header with any name, including __proto__', async () => {
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

  test('sends the headers of the user', async () => {
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
    [['https://evil.example/bicycles/'], "https://evil.example is not the service's origin"],
    [['http://127.0.0.1:1/bicycles/'], "is not the service's origin"],
    [['//evil.example/bicycles/'], "http://evil.example is not the service's origin"],
    [['\\\\evil.example/'], "http://evil.example is not the service's origin"],
    [['http:\\\\evil.example/'], "http://evil.example is not the service's origin"],
    [['/../admin/'], 'is outside'],
    [['/%2e%2e/admin/'], 'is outside'],
    [['/x/', '-X', 'PSOT'], 'did you mean "POST"?'],
    [['/x/', '-H', 'Authorization: JWT other'], 'the header Authorization cannot be set'],
    [['/x/', '-H', 'Host: other'], 'the header Host cannot be set'],
    [['/x/', '-H', 'nonsense'], 'a header must have the form "Name: value"'],
    [['/x/', '-H', 'X-A: b\r\nX-C: d'], 'a header must have the form "Name: value"'],
    [['/x/', '-F', 'nonsense'], 'a field must be NAME=VALUE'],
    [['/x/', '-F', 'a=1', '-F', 'a=2'], 'the field "a" is given twice'],
    [['/x/', '-F', 'a[b]=2'], 'is not a field name'],
    [
      ['/x/', '-F', 'a=@/nonexistent/nothing'],
      '/nonexistent/nothing cannot be read: no such file or directory\n',
    ],
    [
      ['/x/', '--input', '/nonexistent/nothing'],
      '/nonexistent/nothing cannot be read: no such file or directory\n',
    ],
    [['/x/', '--input', fileOf('broken.json', '{"a":')], '--input is not JSON'],
    [['/x/', '--input', fileOf('latin1.json', Uint8Array.of(0x22, 0xfc, 0x22))], 'not UTF-8 text'],
    [['/x/', '--input', '-', '-F', 'a=@-'], 'stdin can be read only once'],
    [['/x/', '-X', 'GET', '--input', fileOf('get.json', '{}')], 'GET carries no body'],
    [['/x/', '--paginate', '-f', 'a=1'], '--paginate works only with GET'],
    [['/x/', '--paginate', '-i'], 'does not support --include'],
    [['/x/', '-f', 'type=rent', '--jq', '.['], 'syntax error'],
    [['/x/', '-f', 'type=rent', '--jq', '.', '-o', 'csv'], '--jq filters JSON'],
    [['/x/', '-f', 'type=rent', '--columns', 'a'], '--columns works only with table, csv, tsv'],
  ])('rejects %j', async (args, words) => {
    const { code, stdout, stderr, asked } = await fleet(fine, args, { prefix: '/api' });
    expect({ code, stdout, asked: asked.length }).toEqual({ code: 2, stdout: '', asked: 0 });
    expect(stderr).toContain(words);
  });

  test('keeps every path at the origin and below the prefix (property-based)', () => {
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

  test('builds a JSON object from fields (property-based)', () => {
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
  test('prints JSON with all digits, on one line when stdout is not a terminal', async () => {
    const text = '{\n "n": 12345678901234567890,\n "d": 1.50\n}';
    const { stdout } = await fleet((response) => sendJson(response, 200, text), ['/x/']);
    expect(stdout).toBe('{"n":12345678901234567890,"d":1.50}\n');
  });

  test('obeys the output format of the flag but not of the settings', async () => {
    const answer: Answer = (response) =>
      sendJson(response, 200, {
        count: 2,
        results: [
          { uuid: 'a', n: 1 },
          { uuid: 'b', n: 2 },
        ],
      });
    expect((await fleet(answer, ['/x/'], { env: { FLEET_OUTPUT: 'csv' } })).stdout).toMatch(
      /^\{"count":2/,
    );
    expect((await fleet(answer, ['/x/', '-o', 'csv'])).stdout).toBe('uuid,n\na,1\nb,2\n');
    expect((await fleet(answer, ['/x/', '-o', 'jsonl'])).stdout).toBe(
      '{"uuid":"a","n":1}\n{"uuid":"b","n":2}\n',
    );
    expect((await fleet(answer, ['/x/', '-o', 'uuid'])).stdout).toBe('a\nb\n');
    expect((await fleet(answer, ['/x/', '-o', 'yaml'])).stdout).toMatch(/^count: 2\nresults:\n/);
    expect((await fleet(answer, ['/x/', '-o', 'table', '--columns', 'n'])).stdout).toBe(
      'N\n1\n2\n',
    );
  });

  test('passes the answer to the jq program', async () => {
    const answer: Answer = (response) =>
      sendJson(response, 200, { count: 1, results: [{ name: 'Ada' }] });
    expect((await fleet(answer, ['/x/', '--jq', '.results[].name'])).stdout).toBe('Ada\n');
  });

  test('prints status, headers and body with -i, and redacts secrets', async () => {
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

  test('prints nothing for an empty answer', async () => {
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

  test('writes data that is not JSON unchanged to a pipe', async () => {
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

  test('escapes text and does not print binary data on a terminal', async () => {
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

  test('fails when the answer is not JSON although JSON was declared or requested', async () => {
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

describe('`api --paginate`', () => {
  const pages: Answer = (response, { page, headers }) => {
    const next = page < 3 ? `https://elsewhere/other/?page=${page + 1}&size=2` : null;
    const tag = headers['x-tag'];
    sendJson(response, 200, {
      count: 6,
      next,
      results: [
        { uuid: `${page}a`, tag },
        { uuid: `${page}b`, n: 1.5 },
      ],
    });
  };

  test('prints one array of all items and uses only the query of the links', async () => {
    const { stdout, asked, stderr } = await fleet(
      pages,
      ['/x/?size=2', '--paginate', '-H', 'x-tag: t'],
      {
        prefix: '/api',
      },
    );
    expect(JSON.parse(stdout)).toHaveLength(6);
    expect(JSON.parse(stdout)[0]).toEqual({ uuid: '1a', tag: 't' });
    expect(stderr).toBe('');
    expect(asked.map(({ path }) => path)).toContain('/api/x/?page=3&size=2');
    expect(asked[0]?.path).toBe('/api/x/?size=2&page_size=100');
  });

  test('--paginate works with --jq and -o uuid', async () => {
    expect((await fleet(pages, ['/x/', '--paginate', '--jq', 'length'])).stdout).toBe('6\n');
    expect((await fleet(pages, ['/x/', '--paginate', '-o', 'uuid'])).stdout).toBe(
      '1a\n1b\n2a\n2b\n3a\n3b\n',
    );
  });

  test('fails for an answer that is not a list', async () => {
    expect(await fleet(fine, ['/x/', '--paginate'])).toMatchObject({ code: 7, stdout: '' });
  });
});

describe('errors of `api`', () => {
  test.each([
    [400, 6],
    [401, 4],
    [404, 5],
    [500, 7],
  ])('exits after HTTP %i with %i', async (status, code) => {
    const run = await fleet(
      (response) => sendJson(response, status, { detail: 'not so' }),
      ['/x/', '--retries', '0'],
    );
    expect(run).toMatchObject({ code, stdout: '' });
    expect(run.stderr).toContain(`not so (HTTP ${status}, request request-1)`);
  });

  test('prints the complete answer of an error with -i', async () => {
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

  test('sends a change once and retries a read', async () => {
    const flaky = (): Answer => {
      let count = 0;
      return (response) =>
        ++count === 1 ? sendJson(response, 503, {}) : sendJson(response, 200, {});
    };
    expect(await fleet(flaky(), ['/x/'])).toMatchObject({ code: 0 });
    const change = await fleet(flaky(), ['/x/', '-X', 'PATCH', '-f', 'a=b']);
    expect(change.code).toBe(8);
    expect(change.asked).toHaveLength(1);
    const cut = await fleet((_, __, socket) => void socket.destroy(), ['/x/', '-f', 'a=b']);
    expect(cut.code).toBe(8);
    expect(cut.asked).toHaveLength(1);
    expect(cut.stderr).toContain('whether it was carried out is unknown');
  });
});
