// Tests the single executable (`npm run build:binary`): its content, and files of the current
// folder that it must ignore.

import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { environmentOf } from './support/environment.js';
import { newFolder } from './support/folder.js';
import { isExecutable, PROGRAM_FILE } from './support/program.js';
import { withSandbox } from './support/sandbox.js';

describe.runIf(isExecutable)('the executable', () => {
  const folder = newFolder();

  const fleet = async (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> => {
    const { stdout } = await promisify(execFile)(PROGRAM_FILE, args, {
      cwd: folder,
      maxBuffer: 16 * 1024 * 1024,
      env: { HOME: folder, FLEET_CONFIG_DIR: join(folder, 'settings'), ...env },
    });
    return stdout;
  };

  test('the executable prints its version and build', async () => {
    const { version } = JSON.parse(
      await readFile(new URL('../package.json', import.meta.url), 'utf8'),
    );
    expect(await fleet(['--version'])).toBe(`${version}\n`);
    const found = await fleet(['doctor', '--json']).catch(({ stdout }) => stdout);
    expect(found).toContain(`version ${version}, one executable, Bun `);
  });

  test('the executable does not read Bun settings from the current folder', async () => {
    await writeFile(join(folder, '.env'), 'FLEET_OUTPUT=csv\nFLEET_RETRIES=9\n');
    await writeFile(join(folder, 'bunfig.toml'), 'preload = ["./hostile.js"]\n');
    await writeFile(join(folder, 'hostile.js'), 'throw new Error("this ran")');
    await writeFile(
      join(folder, 'package.json'),
      '{"name": "hostile", "imports": {"#x": "./hostile.js"}}',
    );
    await writeFile(join(folder, 'tsconfig.json'), '{');
    expect(await fleet(['config', 'get', 'output'])).toBe('table\n');
  });

  test('the executable contains SQLite, the coastline and the map page', async () => {
    await withSandbox({ bicycles: 30 }, async (sandbox) => {
      const env = { XDG_STATE_HOME: join(folder, 'state'), ...(await environmentOf(sandbox)) };
      await fleet(['mirror', 'once'], env);
      const count = await fleet(['bicycles', 'list', '--count', '-q'], env);
      expect(
        await fleet(['mirror', 'query', 'select count(*) as n from bicycles', '-o', 'csv'], env),
      ).toBe(`n\n${count}`);
      expect(await fleet(['map'], env)).toContain('available');
      expect(await fleet(['map', '-o', 'html'], env)).toContain('</html>');
    });
  });

  test('the executable contains its manual', async () => {
    await fleet(['help', '--man-pages', join(folder, 'man'), '-q']);
    expect(await readdir(join(folder, 'man', 'man1'))).toContain('fleet-bicycles-list.1');
  });

  test('the executable does not create a folder for compiled code', async () => {
    await fleet(['config', 'list']);
    expect(await readdir(folder)).not.toContain('.cache');
  });
});
