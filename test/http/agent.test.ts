// Checks the internal path of undici that agent.ts imports.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openAgent } from '../../src/http/agent.js';
import { openConnector, openSockets } from '../../src/http/connect.js';

test('undici exports its Agent where agent.ts imports it', async () => {
  const undici = await import('undici');
  const agent = openAgent({ connect: openConnector(1000, openSockets()) });
  expect(agent).toBeInstanceOf(undici.Agent);
  await agent.close();
});

/** Lists one page with the built program and returns its V8 flags that it sets. */
function runPage(): { flags: string[] } {
  const program = fileURLToPath(new URL('../../bin/fleet.js', import.meta.url));
  const script = `
    const flags = [];
    require('node:v8').setFlagsFromString = (flag) => flags.push(flag);
    const answer = 'HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\n[]';
    require('node:net').createServer((socket) => socket.once('data', () => socket.end(answer))).listen(0, '127.0.0.1', function () {
      process.env.FLEET_BASE_URL = 'http://127.0.0.1:' + this.address().port;
      process.argv = [process.execPath, 'fleet', 'bicycles', 'list', '--json', '-q'];
      require(${JSON.stringify(program)});
      this.unref();
    });
    process.on('exit', () => process.stderr.write(JSON.stringify({ flags })));
  `;
  const env = {
    PATH: process.env['PATH'],
    FLEET_CONFIG_DIR: '/nonexistent/fleet-tests',
    FLEET_TOKEN: 'token-of-the-test',
  };
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { env, encoding: 'utf8' });
  expect(stdout).toBe('[]\n');
  return JSON.parse(stderr);
}

const page = runPage();

test('sets the WebAssembly flags that disable optimization only on Node 20', () => {
  const never = ['--no-wasm-dynamic-tiering', '--no-wasm-tier-up'];
  expect(page.flags).toEqual(process.version.startsWith('v20.') ? never : []);
});
