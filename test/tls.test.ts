// Tests https with the built program: a private authority, wrong host names, and a proxy.

import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer as createProxy } from 'node:http';
import { createServer, type Server } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { newFolder } from './support/folder.js';
import { listenOn } from './support/listen.js';
import { mostly } from './support/often.js';
import type { RunResult } from './support/run.js';
import { startProgram } from './support/running.js';
import { hasTool } from './support/tools.js';

const UUID = '6f1c0b5e-2f0e-4c56-9d3a-000000000001';

describe.runIf(hasTool('openssl'))('https', () => {
  let folder: string;
  let server: Server;
  let port: number;

  beforeAll(async () => {
    folder = newFolder();
    const openssl = (line: string) =>
      execFileSync('sh', ['-c', `openssl ${line}`], { cwd: folder, stdio: 'ignore' });
    const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';
    openssl(`req -x509 ${key} -subj /CN=authority -days 3 -keyout ca.key -out ca.pem`);
    openssl(
      `req ${key} -subj /CN=localhost -addext subjectAltName=DNS:localhost,DNS:fleet.test -keyout key.pem -out request.pem`,
    );
    openssl(
      'x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -copy_extensions copy -days 3 -out cert.pem',
    );
    const [keyPem, cert] = await Promise.all(
      ['key.pem', 'cert.pem'].map((name) => readFile(join(folder, name))),
    );
    server = createServer({ key: keyPem, cert }, (_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(`[{"uuid":"${UUID}"}]`);
    });
    port = await listenOn(server);
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  function list(
    host: string,
    more: NodeJS.ProcessEnv = {},
    flags: readonly string[] = [],
  ): Promise<RunResult> {
    const env = {
      PATH: process.env['PATH'],
      FLEET_CONFIG_DIR: '/nonexistent/fleet-tests',
      FLEET_BASE_URL: `https://${host}:${port}`,
      FLEET_TOKEN: 'token-of-the-test',
      ...more,
    };
    return startProgram(['bicycles', 'list', '-o', 'uuid', '--retries', '0', ...flags], env).ended;
  }

  test.each(mostly([[['-q']], [[]]], (_, index) => index === 0))(
    'reports NODE_TLS_REJECT_UNAUTHORIZED=0 once %j',
    async (flags) => {
      const { code, stdout, stderr } = await list(
        'localhost',
        { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
        flags,
      );
      expect({ code, stdout }).toEqual({ code: 0, stdout: `${UUID}\n` });
      expect(
        stderr.match(/NODE_TLS_REJECT_UNAUTHORIZED=0: certificates are not verified/g),
      ).toHaveLength(1);
    },
  );

  test('accepts a certificate from NODE_EXTRA_CA_CERTS only for its host names', async () => {
    const NODE_EXTRA_CA_CERTS = join(folder, 'ca.pem');
    expect(await list('localhost', { NODE_EXTRA_CA_CERTS })).toEqual({
      code: 0,
      stdout: `${UUID}\n`,
      stderr: '',
    });
    const refused = { code: 8, stderr: expect.stringContaining('certificate') };
    expect(await list('127.0.0.1', { NODE_EXTRA_CA_CERTS })).toMatchObject(refused);
    const hinted = {
      ...refused,
      stderr: expect.stringMatching(/certificate.*NODE_EXTRA_CA_CERTS/s),
    };
    expect(await list('localhost')).toMatchObject(hinted);
  });

  test('hides a token that appears in a certificate name', async () => {
    const token = '9944b09199c62bcf9418ad846dd0e4bb';
    const openssl = (line: string) =>
      execFileSync('sh', ['-c', `openssl ${line}`], { cwd: folder, stdio: 'ignore' });
    openssl(
      `req -key key.pem -new -subj /CN=x -addext subjectAltName=DNS:${token}.example -out named-request.pem`,
    );
    openssl(
      'x509 -req -in named-request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -copy_extensions copy -days 3 -out named.pem',
    );
    const [key, cert] = await Promise.all(
      ['key.pem', 'named.pem'].map((name) => readFile(join(folder, name))),
    );
    const naming = createServer({ key, cert });
    const url = `https://localhost:${await listenOn(naming)}`;
    onTestFinished(() => void naming.close());
    const database = join(newFolder(), 'm.db');
    const env = {
      PATH: process.env['PATH'],
      FLEET_CONFIG_DIR: '/nonexistent/fleet-tests',
      FLEET_BASE_URL: url,
      FLEET_SSE_URL: url,
      FLEET_TOKEN: token,
      FLEET_ORGANIZATION: UUID,
      NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
    };
    const other = UUID.replace(/1$/, '2');
    const acted = await startProgram(
      ['alerts', 'act', UUID, other, 'resolve', '--yes', '--json', '--retries', '0'],
      env,
    ).ended;
    expect(acted.stdout).toContain('DNS:[hidden].example');
    expect(acted.stdout).not.toContain(token);

    const mirror = startProgram(['mirror', 'run', '--to', `sqlite:${database}`], env);
    await mirror.until(() => mirror.stderr().includes('trying again'));
    await mirror.stop();
    const { stdout } = await startProgram(
      ['mirror', 'query', '--to', `sqlite:${database}`, 'select reason from gaps', '-o', 'csv'],
      env,
    ).ended;
    expect(stdout).toContain('DNS:[hidden].example');
    expect(stdout).not.toContain(token);
  });

  test("verifies the service's certificate through a proxy tunnel", async () => {
    const asked: string[] = [];
    const proxy = createProxy().on('connect', (request, socket) => {
      asked.push(request.url ?? '');
      const upstream = connect(port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      for (const end of [socket, upstream]) end.on('error', () => {});
    });
    const HTTPS_PROXY = `http://127.0.0.1:${await listenOn(proxy)}`;
    onTestFinished(() => void proxy.close());
    const trusted = await list('fleet.test', {
      HTTPS_PROXY,
      NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
    });
    expect([trusted, asked]).toEqual([
      { code: 0, stdout: `${UUID}\n`, stderr: '' },
      [`fleet.test:${port}`],
    ]);
    expect((await list('fleet.test', { HTTPS_PROXY })).code).toBe(8);
  });
});
