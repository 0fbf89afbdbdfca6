// Tests quoting for the shell of each platform.

import { expect, test } from 'vitest';
import { quoteForShell, setVariables, unsetVariable } from '../../src/system/shell-words.js';

test.each([
  ['/home/ann/it.json', '/home/ann/it.json', '/home/ann/it.json'],
  [String.raw`C:\Users\ann`, String.raw`'C:\Users\ann'`, String.raw`C:\Users\ann`],
  ["Ann's fleet", String.raw`'Ann'\''s fleet'`, "'Ann''s fleet'"],
  ['Ann’s', "'Ann’s'", "'Ann’’s'"],
  ['$HOME', "'$HOME'", "'$HOME'"],
  ['a,@b', 'a,@b', "'a,@b'"],
  ['', "''", "''"],
])('quotes the word %s for the shell', (word, posix, powershell) => {
  expect([quoteForShell(word, 'linux'), quoteForShell(word, 'win32')]).toEqual([posix, powershell]);
});

test('prints shell commands that set and unset variables', () => {
  const values = { FLEET_BASE_URL: 'https://example.com/api', FLEET_PROFILE: "Ann's" };
  expect(setVariables(values, 'linux')).toBe(
    String.raw`export FLEET_BASE_URL=https://example.com/api FLEET_PROFILE='Ann'\''s'`,
  );
  expect(setVariables(values, 'win32')).toBe(
    "$env:FLEET_BASE_URL = 'https://example.com/api'; $env:FLEET_PROFILE = 'Ann''s'",
  );
  expect([unsetVariable('A', 'darwin'), unsetVariable('A', 'win32')]).toEqual([
    'unset A',
    'Remove-Item Env:A',
  ]);
});
