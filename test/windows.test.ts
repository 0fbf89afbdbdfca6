// Tests the behaviour on Windows on every platform. `npm run test:windows` tests more with Wine.

import { win32 } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseMirrorAddress } from '../src/mirror/address.js';
import { pretendPlatform } from './support/platform.js';
import { runFleet } from './support/run.js';

const WINDOWS_SETTINGS = { FLEET_CONFIG_DIR: 'C:\\fleet' };

describe('a mirror path on Windows', () => {
  const parse = (text: string, folder?: string) => parseMirrorAddress(text, folder, 'win32');

  test.each([
    ['sqlite:/c/Users/ann/mirror.db', 'sqlite:c:\\Users\\ann\\mirror.db'],
    ['sqlite:/D/mirror.db', 'sqlite:D:\\mirror.db'],
    ['sqlite:///C:/Users/ann/mirror.db', 'sqlite:C:\\Users\\ann\\mirror.db'],
  ])('suggests the Windows path for %s', (text, whole) => {
    const hint = `write the whole path: ${whole}`;
    const reason = expect.stringContaining('is not an absolute path');
    expect(parse(text)).toEqual({ reason, hint });
    expect(parse(text, 'C:\\Users\\ann')).toEqual({ reason, hint });
  });

  test.each([
    'C:\\Users\\ann\\mirror.db',
    'c:/Users/ann/mirror.db',
    '\\\\server\\share\\mirror.db',
  ])('accepts %s', (path) => {
    expect(parse(`sqlite:${path}`)).toEqual({ value: { kind: 'sqlite', path } });
  });

  test('resolves a relative path in the current folder', () => {
    const path = win32.resolve('C:\\Users\\ann', 'mirror.db');
    expect(parse('sqlite:mirror.db', 'C:\\Users\\ann')).toEqual({
      value: { kind: 'sqlite', path },
    });
  });

  test('rejects a device name', () => {
    for (const path of ['C:\\Users\\ann\\NUL', 'con.db'])
      expect(parse(`sqlite:${path}`, 'C:\\Users\\ann')).toMatchObject({
        reason: `"${path}" is the name of a device on Windows`,
      });
  });

  test('keeps paths unchanged on other platforms', () => {
    expect(parseMirrorAddress('sqlite:/c/mirror.db', undefined, 'linux')).toEqual({
      value: { kind: 'sqlite', path: '/c/mirror.db' },
    });
  });

  test('the --to hint corrects a mirror path on Windows', async () => {
    pretendPlatform('win32');
    const line = 'mirror status --to sqlite:/c/Users/ann/mirror.db';
    const run = await runFleet(line.split(' '), { env: WINDOWS_SETTINGS });
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('hint: write the whole path: sqlite:c:\\Users\\ann\\mirror.db\n');
  });
});

describe('the settings folder on Windows', () => {
  const configPath = (env: NodeJS.ProcessEnv) => {
    pretendPlatform('win32');
    return runFleet(['config', 'path'], { env });
  };

  test.each([
    ['/c/fleet', 'hint: did you mean c:\\fleet? set'],
    ['fleet', 'hint: set'],
    ['\\fleet', 'hint: set'],
    ['', 'hint: set'],
  ])('rejects FLEET_CONFIG_DIR=%s and shows an example', async (chosen, start) => {
    const { code, stderr } = await configPath({ FLEET_CONFIG_DIR: chosen });
    const example =
      'FLEET_CONFIG_DIR to an absolute path such as C:\\Users\\ann\\fleet, or unset it\n';
    expect(code).toBe(3);
    expect(stderr).toContain(`FLEET_CONFIG_DIR is "${chosen}", which is not an absolute path\n`);
    expect(stderr).toContain(`${start} ${example}`);
  });

  test('the error mentions an unset APPDATA', async () => {
    const { code, stderr } = await configPath({ FLEET_CONFIG_DIR: undefined });
    expect(code).toBe(3);
    expect(stderr).toContain('APPDATA is "", which is not an absolute path\n');
    expect(stderr).toContain('hint: set APPDATA or FLEET_CONFIG_DIR to an absolute path\n');
  });
});

describe('`doctor` on different platforms', () => {
  const checkFileModes = async () => {
    const env = process.platform === 'win32' ? WINDOWS_SETTINGS : {};
    const { stdout } = await runFleet(['doctor', '--json'], { env });
    const findings: { check: string; finding: string }[] = JSON.parse(stdout);
    return findings.filter(({ check }) => check === 'file modes');
  };

  test('`doctor` on Windows reports that file modes are not checked', async () => {
    pretendPlatform('win32');
    const finding = expect.stringContaining('not checked on Windows');
    expect(await checkFileModes()).toEqual([
      { check: 'file modes', outcome: 'ok', finding, next: null },
    ]);
  });

  test('`doctor` on Linux reports no file mode problem', async () => {
    pretendPlatform('linux');
    expect(await checkFileModes()).toEqual([]);
  });
});
