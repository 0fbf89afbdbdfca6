// Tests that every answer has limits of size, depth and time. An answer beyond a limit causes one
// line of error, and an error status keeps its meaning.

import { constants, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { FleetError } from '../../src/errors.js';
import type { ClientOptions } from '../../src/http/client.js';
import type { HttpRequest } from '../../src/http/types.js';
import { openTestClient } from '../support/client.js';
import { type HostileName, type HostileOptions, hostile } from '../support/hostile.js';
import {
  type Behaviour,
  inTurn,
  type MisbehavingServer,
  openMisbehaving,
  sendStatus,
} from '../support/misbehaving.js';
import { refusal } from '../support/refusal.js';
import { runFleet } from '../support/run.js';

/** Returns the status of a request to such a server, or its error. */
async function ask(
  behaviour: Behaviour,
  request: Partial<HttpRequest> = {},
  options: Partial<ClientOptions> = {},
): Promise<{ server: MisbehavingServer; status?: number; error?: FleetError }> {
  const server = await openMisbehaving(behaviour);
  const { client } = await openTestClient(server.url, { retries: 0, ...options });
  try {
    const { status } = await client.send({ path: '/x/', ...request });
    return { server, status };
  } catch (error) {
    return { server, error: error as FleetError };
  }
}

const MB = 2 ** 20;
const change = { method: 'POST', body: '{"type":"rent"}' };

describe('rejects an invalid body that arrives in one packet with its headers', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
  const broken = (headers: string): Behaviour => {
    const answer = `${head}${headers}Transfer-Encoding: chunked\r\n\r\nno length\r\n`;
    return (socket) => void socket.write(answer);
  };

  test.each(['', 'Content-Encoding: gzip\r\n'])(
    'a read and a change fail at once when the response has the headers %j',
    async (headers) => {
      for (const request of [{}, change]) {
        const { error } = await ask(broken(headers), request);
        expect(error?.kind).toBe('network');
        expect(error?.message).toContain('the answer is not HTTP');
      }
    },
  );
});

describe('interim responses (HTTP 1xx)', () => {
  test.each(['100 Continue', '102 Processing', '103 Early Hints'])(
    'ignores %s before the answer to a read and to a change',
    async (status) => {
      const behaviour: Behaviour = (socket) => {
        socket.write(`HTTP/1.1 ${status}\r\n\r\n`);
        setTimeout(() => sendStatus(socket, 200, { 'Content-Type': 'application/json' }, '{}'), 50);
      };
      for (const request of [{}, change]) {
        const { status: answered, server } = await ask(behaviour, request);
        expect(answered).toBe(200);
        expect(server.requests).toHaveLength(1);
      }
    },
  );

  test('reuses the connection after an interim response', async () => {
    const behaviour: Behaviour = (socket) =>
      void socket.write(
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}',
      );
    const server = await openMisbehaving(behaviour);
    const { client } = await openTestClient(server.url, { retries: 0 });
    for (let count = 0; count < 3; count++)
      expect(await client.send({ path: '/x/' })).toMatchObject({ status: 200 });
    expect(server.sockets.size).toBe(1);
  });
});

describe('response size limits', () => {
  const zeros = Buffer.alloc(25 * MB, ' ');
  // The same delays as by default, ten times faster.
  const rle = { strategy: constants.Z_RLE };

  test.each<[string, Behaviour]>([
    ['600 MB', hostile('large', { bytes: 600 * MB })],
    ['600 MB in gzip', hostile('bomb', { bytes: 600 * MB })],
  ])('reads at most 64 MB of %s', async (_size, behaviour) => {
    const { error } = await ask(behaviour, {}, { timeoutMs: 280_000 });
    const message = 'the answer is larger than 64 MB, and was not read to the end';
    expect(error).toMatchObject({ kind: 'service', status: 200, message });
  });

  test.each(['in order', 'by a reset'])(
    'decompresses a response when its connection ends %s',
    async (how) => {
      const bytes = gzipSync(zeros, rle);
      const behaviour: Behaviour = (socket) => {
        // The text is sent in one write, so that the connection is empty while zlib works.
        socket.write(
          Buffer.concat([
            Buffer.from('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n'),
            bytes,
          ]),
        );
        if (how === 'in order') socket.end();
        else setTimeout(() => socket.resetAndDestroy(), 50);
      };
      const { status, error } = await ask(behaviour);
      if (how === 'in order') expect(status).toBe(200);
      else expect(status ?? error?.kind).toSatisfy((end) => end === 200 || end === 'network');
    },
  );

  test.each(['gzip', 'deflate', 'br'])(
    'detects an invalid %s body while the connection is open',
    async (coding) => {
      const { error } = await ask((socket) => {
        socket.write(
          `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\n\r\n{"count":0,"next":null,"results":[]}`,
        );
        socket.write('x'.repeat(200_000));
      });
      expect(error).toMatchObject({ kind: 'service', status: 200 });
    },
  );

  test('reads a response of almost 64 MB', async () => {
    const { status } = await ask(hostile('large', { bytes: 63 * MB }));
    expect(status).toBe(200);
  });

  test.each([
    [404, 'not-found'],
    [500, 'service'],
    [409, 'rejected'],
    [301, 'service'],
  ])('reads at most 64 kB of the body of an HTTP %i error', async (status, kind) => {
    for (const name of ['large', 'bomb'] as const) {
      const { error } = await ask(hostile(name, { status, bytes: 300 * MB }));
      expect(error).toMatchObject({ kind, status });
      expect(JSON.stringify(error?.detail ?? null).length).toBeLessThan(100_000);
    }
  });
});

describe('response depth limits', () => {
  test.each(['json', 'jsonl', 'yaml', 'table', 'csv', 'tsv', 'geojson', 'uuid'])(
    'prints one line and exits with 7 for an answer with 10,000 brackets as %s',
    async (format) => {
      const { env } = await openMisbehaving(hostile('nested', { bytes: 10_000 }));
      const { code, stdout, stderr } = await runFleet(['bicycles', 'list', '-o', format], { env });
      expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
      expect(stderr).toContain('nested deeper than 500 levels');
      expect(stderr).not.toMatch(/\n\s+at /);
    },
  );

  test.each(['json', 'yaml', 'table', 'csv'])(
    'prints an answer with 499 levels as %s',
    async (format) => {
      const { env } = await openMisbehaving(
        hostile('honest', { body: `[${'{"a":'.repeat(498)}1${'}'.repeat(498)}]` }),
      );
      const { code, stderr } = await runFleet(['api', '/x/', '-o', format], { env });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    },
  );

  test.each([
    [400, 6],
    [404, 5],
    [500, 7],
  ])('keeps the exit code of an HTTP %i error with a deeply nested body', async (status, code) => {
    const { env } = await openMisbehaving(hostile('nested', { status, bytes: 10_000 }));
    const run = await runFleet(['bicycles', 'list', '--json', '--retries', '0'], { env });
    expect(run.code).toBe(code);
    const { error } = JSON.parse(run.stderr);
    expect(error).toMatchObject({ status, detail: '['.repeat(2000) });
  });
});

describe('response time limits', () => {
  test('fails at the deadline when the body arrives byte by byte', async () => {
    const startedAt = performance.now();
    const { error, server } = await ask(
      hostile('slowBody', { everyMs: 1_000 }),
      {},
      { timeoutMs: 60_000, deadlineMs: 4_000, retries: 3 },
    );
    const late = refusal('network', /the answer did not end in time/);
    expect(error).toMatchObject({ ...late, hint: expect.stringContaining('--deadline') });
    expect(server.requests).toHaveLength(1);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(3_990);
  });

  test('reports an unknown outcome when the response headers miss the deadline', async () => {
    const { error } = await ask(hostile('slowHead', { everyMs: 1_000 }), change, {
      timeoutMs: 60_000,
      deadlineMs: 4_000,
    });
    expect(error?.message).toContain('it is unknown whether the request was carried out');
  });

  test('--deadline must be a number of seconds', async () => {
    const { env } = await openMisbehaving(hostile('slowBody', { everyMs: 50 }));
    const { code, stderr } = await runFleet(['bicycles', 'list', '--deadline', '0.3'], { env });
    expect([code, stderr]).toEqual([8, expect.stringContaining('--deadline')]);
    expect((await runFleet(['bicycles', 'list', '--deadline', 'soon'], { env })).code).toBe(2);
  });
});

describe('unusual HTTP responses', () => {
  const PAGE =
    '<!doctype html><html><head><title>Sign in</title></head><body>no service here</body></html>';
  test.each<[HostileName, HostileOptions, number]>([
    ['slowBody', { everyMs: 2 }, 0],
    ['slowHead', { everyMs: 1 }, 0],
    ['lengthTooLong', { bytes: 10 }, 8],
    ['lengthTooShort', {}, 7],
    ['breakOff', {}, 8],
    ['honest', { body: PAGE, contentType: 'text/html' }, 7],
    ['honest', { body: PAGE, contentType: 'text/html', status: 503 }, 7],
    ['silent', {}, 8],
  ])(
    'the server behavior %s with options %j leads to exit code %i',
    async (name, options, exitCode) => {
      const body = '{"count":1,"next":null,"previous":null,"results":[{"uuid":"u1","name":"Ada"}]}';
      const { env } = await openMisbehaving(hostile(name, { body, ...options }));
      const line = `bicycles list --json -q --retries 0 --timeout ${exitCode === 0 ? 30 : 1}`;
      const run = await runFleet(line.split(' '), { env });
      expect(run.code, run.stderr).toBe(exitCode);
      if (exitCode === 0) expect(JSON.parse(run.stdout)).toHaveLength(1);
      else expect(JSON.parse(run.stderr).error.message).not.toBe('');
    },
  );

  test.each([
    ['102 and 103', 'interimFirst'],
    ['an unexpected 100 Continue', 'continueFirst'],
  ] as const)('ignores %s before the answer to a change', async (_what, behaviour) => {
    expect((await ask(hostile(behaviour), change)).status).toBe(200);
  });

  test('reads 20 kB of headers in the response to a change', async () => {
    expect((await ask(hostile('bigHeader', { bytes: 20_000 }), change)).status).toBe(200);
  });

  test.each<[what: string, behaviour: Behaviour, words: string, requests: number]>([
    [
      'headers above 64 kB',
      hostile('bigHeader', { bytes: 100_000 }),
      'headers of the answer are larger than 64 kB',
      1,
    ],
    ['headers that do not come in time', hostile('silent'), 'no answer in time', 2],
    ['a body that stops', hostile('silentBody'), 'the response stopped arriving', 2],
    [
      'something that is not HTTP',
      (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
      'not HTTP',
      1,
    ],
  ])(
    'reports %s and retries only when a retry can help',
    async (_what, behaviour, words, requests) => {
      const { error, server } = await ask(behaviour, {}, { retries: 1, timeoutMs: 200 });
      expect([error?.kind, error?.message]).toEqual(['network', expect.stringContaining(words)]);
      expect(server.requests).toHaveLength(requests);
    },
  );

  test.each<[number, Partial<HttpRequest>]>([
    [429, change],
    [429, {}],
    [503, {}],
  ])('retries after HTTP %i even when the response body is truncated', async (status, request) => {
    const names = ['breakOff', 'gzipCut', 'gzipLie', 'silentBody', 'unknownEncoding'] as const;
    const ends = names.map(async (name) => {
      const behaviour = inTurn(hostile(name, { status }), hostile('honest'));
      const { server, status: last } = await ask(behaviour, request, {
        retries: 1,
        timeoutMs: 500,
      });
      return { name, last, requests: server.requests.length };
    });
    expect(await Promise.all(ends)).toEqual(
      names.map((name) => ({ name, last: 200, requests: 2 })),
    );
  });

  test('renews the token after a 401 with a truncated body', async () => {
    const token = { get: async () => 'old', renew: async () => 'new' };
    const behaviour = inTurn(hostile('breakOff', { status: 401 }), hostile('honest'));
    const { server, status } = await ask(behaviour, change, { token });
    expect(status).toBe(200);
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([
      'JWT old',
      'JWT new',
    ]);
  });

  test('suggests the missing final slash when the service redirects a change', async () => {
    const { error } = await ask(
      hostile('honest', { status: 301, headers: { Location: '/bicycles/' } }),
      {
        ...change,
        path: '/bicycles',
      },
    );
    expect(error).toMatchObject({ status: 301, hint: 'add the missing final slash: /bicycles/' });
  });
});

test.each([
  [
    { 'X-Acme-RequestId': 'r', 'X-Acme-From': 'f', 'X-Acme-Version': 'v' },
    { requestId: 'r', from: 'f', version: 'v' },
  ],
  [{ 'x-acme-requestid': 'r', 'X-SERVICE-RequestID': 's' }, { requestId: 's' }],
  [{ 'X-Request-Id': 'r', 'X-Version': 'v' }, {}],
])('reads the trace headers of a response: %j', async (headers, trace) => {
  const { error } = await ask((socket) =>
    sendStatus(socket, 400, headers as { [name: string]: string }),
  );
  expect(error?.trace).toEqual(trace);
});
