// Tests the priority of the sources of each setting and the errors for invalid values.

import { describe, expect, it } from 'vitest';
import { FleetError } from '../../src/errors.js';
import { isLoopback } from '../../src/http/loopback.js';
import { findKey, parseForStore, type SettingFlags } from '../../src/settings/keys.js';
import type { Settings } from '../../src/settings/resolve.js';
import * as resolving from '../../src/settings/resolve.js';
import type { Stored } from '../../src/settings/store.js';

const ORGANIZATION = '0f8fad5b-d9cb-469f-a165-70867728950e';

function storedWith(profiles: Record<string, Record<string, unknown>>, active?: string): Stored {
  const folder = '/somewhere';
  return {
    folder,
    configPath: `${folder}/config.json`,
    credentialsPath: `${folder}/credentials.json`,
    active,
    profiles: new Map(Object.entries(profiles)),
  };
}

function refusalOf(work: () => unknown): FleetError {
  try {
    work();
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

const resolveSettings = (flags: SettingFlags, env: NodeJS.ProcessEnv, stored: Stored) =>
  resolving.resolveSettings({ flags, env, stored });
const explainSettings = (flags: SettingFlags, env: NodeJS.ProcessEnv, stored: Stored) =>
  resolving.explainSettings({ flags, env, stored });

const NOTHING = storedWith({});
const FULL = storedWith({
  default: {
    base_url: 'https://profile.example.com/api',
    sse_url: 'https://push.profile.example.com',
    organization: ORGANIZATION,
    api_version: '1.1',
    output: 'jsonl',
    timeout: 1.5,
    retries: 7,
    token_command: ' echo x ',
    allow_http: true,
  },
});
const FULL_ENV = {
  FLEET_BASE_URL: 'https://environment.example.com',
  FLEET_SSE_URL: 'https://push.environment.example.com',
  FLEET_ORGANIZATION: `https://environment.example.com/organizations/${ORGANIZATION.toUpperCase()}/`,
  FLEET_API_VERSION: '2.0',
  FLEET_OUTPUT: 'csv',
};
const FULL_FLAGS: SettingFlags = {
  baseUrl: 'https://flag.example.com/api/',
  sseUrl: 'http://localhost:4011',
  apiVersion: '3',
  output: 'yaml',
  timeout: 0.25,
  retries: 0,
};

describe('setting sources', () => {
  type Row = [keyof Settings, SettingFlags, NodeJS.ProcessEnv, Stored, unknown, string];
  it.each<Row>([
    ['baseUrl', FULL_FLAGS, FULL_ENV, FULL, 'https://flag.example.com/api/', '--base-url'],
    ['baseUrl', {}, FULL_ENV, FULL, 'https://environment.example.com/', 'FLEET_BASE_URL'],
    [
      'baseUrl',
      {},
      { FLEET_BASE_URL: '' },
      FULL,
      'https://profile.example.com/api',
      'profile "default"',
    ],
    ['baseUrl', {}, {}, NOTHING, undefined, 'default'],
    ['sseUrl', FULL_FLAGS, FULL_ENV, FULL, 'http://localhost:4011/', '--sse-url'],
    ['sseUrl', {}, FULL_ENV, FULL, 'https://push.environment.example.com/', 'FLEET_SSE_URL'],
    ['sseUrl', {}, {}, FULL, 'https://push.profile.example.com/', 'profile "default"'],
    ['sseUrl', {}, {}, NOTHING, undefined, 'default'],
    ['organization', {}, FULL_ENV, NOTHING, ORGANIZATION, 'FLEET_ORGANIZATION'],
    ['organization', {}, {}, FULL, ORGANIZATION, 'profile "default"'],
    ['apiVersion', FULL_FLAGS, FULL_ENV, FULL, '3', '--api-version'],
    ['apiVersion', {}, FULL_ENV, FULL, '2.0', 'FLEET_API_VERSION'],
    ['apiVersion', {}, {}, FULL, '1.1', 'profile "default"'],
    ['apiVersion', {}, {}, NOTHING, '1.0', 'default'],
    ['output', FULL_FLAGS, FULL_ENV, FULL, 'yaml', '--output'],
    ['output', {}, FULL_ENV, FULL, 'csv', 'FLEET_OUTPUT'],
    ['output', {}, {}, FULL, 'jsonl', 'profile "default"'],
    ['output', {}, {}, NOTHING, 'table', 'default'],
    ['timeout', FULL_FLAGS, {}, FULL, 250, '--timeout'],
    ['timeout', {}, {}, FULL, 1500, 'profile "default"'],
    ['timeout', {}, {}, NOTHING, 30_000, 'default'],
    ['retries', FULL_FLAGS, {}, FULL, 0, '--retries'],
    ['retries', {}, {}, FULL, 7, 'profile "default"'],
    ['retries', {}, {}, NOTHING, 3, 'default'],
    ['tokenCommand', {}, {}, FULL, 'echo x', 'profile "default"'],
    ['allowHttp', {}, {}, FULL, true, 'profile "default"'],
    ['allowHttp', {}, {}, NOTHING, false, 'default'],
  ])(
    'chooses the source of %s from flags %j and environment %j',
    (name, flags, env, stored, value, from) => {
      const setting = resolveSettings(flags, env, stored)[name];
      expect([
        setting.value instanceof URL ? setting.value.href : setting.value,
        setting.from,
      ]).toEqual([value, from]);
    },
  );

  it('accepts numbers and booleans written as strings', () => {
    const settings = resolveSettings(
      {},
      {},
      storedWith({ default: { timeout: '5', retries: '1', allow_http: 'True' } }),
    );
    expect([settings.timeout.value, settings.retries.value, settings.allowHttp.value]).toEqual([
      5000,
      1,
      true,
    ]);
  });
});

describe('the active profile', () => {
  const stored = storedWith({ default: {}, berlin: {}, munich: {} }, 'munich');
  it.each<[SettingFlags, NodeJS.ProcessEnv, Stored, string, string]>([
    [{ profile: 'berlin' }, { FLEET_PROFILE: 'munich' }, stored, 'berlin', 'flag'],
    [{}, { FLEET_PROFILE: 'berlin' }, stored, 'berlin', 'environment'],
    [{}, { FLEET_PROFILE: '' }, stored, 'munich', 'profile'],
    [{}, {}, NOTHING, 'default', 'default'],
    [{ profile: 'default' }, {}, NOTHING, 'default', 'flag'],
  ])(
    'chooses the active profile from the flags %j and the environment %j',
    (flags, env, from, name, origin) => {
      expect(resolveSettings(flags, env, from).profile).toMatchObject({ value: name, origin });
    },
  );

  it('rejects an unknown profile name', () => {
    const error = refusalOf(() => resolveSettings({ profile: 'berlni' }, {}, stored));
    expect([error.kind, error.message, error.hint]).toEqual([
      'config',
      'there is no profile "berlni" (--profile)',
      'did you mean "berlin"? profiles: default, berlin, munich',
    ]);
    expect(refusalOf(() => resolveSettings({}, { FLEET_PROFILE: 'x' }, NOTHING)).hint).toBe(
      'there are no profiles yet; to create a profile, run "fleet auth login --profile NAME" or "fleet sandbox"',
    );
    expect(refusalOf(() => resolveSettings({}, {}, storedWith({}, 'gone'))).message).toBe(
      'there is no profile "gone" (/somewhere/config.json)',
    );
  });
});

describe('an invalid value', () => {
  const profile = (values: Record<string, unknown>) => storedWith({ default: values });
  const secret = { sseUrl: 'https://x/?t=secret' };
  it.each<[string, { flags?: SettingFlags; env?: NodeJS.ProcessEnv; stored?: Stored }]>([
    [
      'usage: --base-url: "/api" is not an absolute http or https address',
      { flags: { baseUrl: '/api' } },
    ],
    ['config: FLEET_BASE_URL: "x.org" is not an absolute', { env: { FLEET_BASE_URL: 'x.org' } }],
    [
      'config: base_url of profile "default": "ftp://x" is not an abs',
      { stored: profile({ base_url: 'ftp://x' }) },
    ],
    [
      'config: FLEET_SSE_URL: an address must not contain a user',
      { env: { FLEET_SSE_URL: 'https://u:secret@x' } },
    ],
    ['usage: --sse-url: an address must end before the query', { flags: secret }],
    [
      'usage: --sse-url: an address must end before the query',
      { flags: { sseUrl: 'https://x/#secret' } },
    ],
    [
      'usage: --base-url: an address must not contain white space',
      { flags: { baseUrl: 'https://x\n.example.com' } },
    ],
    [
      'config: FLEET_ORGANIZATION: "https://a" is neither a UUID',
      { env: { FLEET_ORGANIZATION: 'https://a' } },
    ],
    ['usage: --api-version: "1.0; q=1" is not a version', { flags: { apiVersion: '1.0; q=1' } }],
    ['config: FLEET_OUTPUT: "jsn" is not a format', { env: { FLEET_OUTPUT: 'jsn' } }],
    ['usage: --timeout: "0" is not a number of seconds above 0', { flags: { timeout: 0 } }],
    ['config: timeout of profile "default"', { stored: profile({ timeout: 1e9 }) }],
    ['config: timeout of profile "default": "1e3"', { stored: profile({ timeout: '1e3' }) }],
    [
      'config: retries of profile "default": "-1" is not a whole number',
      { stored: profile({ retries: -1 }) },
    ],
    [
      'config: allow_http of profile "default": "maybe"',
      { stored: profile({ allow_http: 'maybe' }) },
    ],
    [
      'config: base_url of profile "default" is neither text nor',
      { stored: profile({ base_url: {} }) },
    ],
  ])('an invalid value is rejected: %s', (said, { flags = {}, env = {}, stored = NOTHING }) => {
    // The organization is parsed when it is needed, all other settings at once.
    const error = refusalOf(() => resolveSettings(flags, env, stored).organization);
    expect(`${error.kind}: ${error.message}`).toContain(said);
    expect(error.message + error.hint).not.toContain('secret');
  });

  it('the hint for an invalid value contains a valid shell command', () => {
    expect(
      refusalOf(() => resolveSettings({ baseUrl: 'localhost:4010/api' }, {}, NOTHING)).hint,
    ).toBe('did you mean http://localhost:4010/api?');
    expect(refusalOf(() => resolveSettings({ output: 'jsn' }, {}, NOTHING)).hint).toContain(
      'did you mean "json"?',
    );
    expect(refusalOf(() => resolveSettings({}, {}, profile({ retries: 'x' }))).hint).toBe(
      'use a number such as 3, or 0 for none; set it with: fleet config set retries VALUE',
    );
  });
});

it.each([
  ['http://localhost:4010', true],
  ['http://LOCALHOST.', true],
  ['http://api.localhost', false],
  ['http://127.0.0.1', true],
  ['http://127.1', true],
  ['http://127.200.3.4:80', true],
  ['http://[::1]:4010', true],
  ['http://localhost.example.com', false],
  ['http://127.0.0.1.example.com', false],
  ['http://notlocalhost', false],
  ['http://0.0.0.0', false],
  ['http://10.0.0.1', false],
  ['http://[::2]', false],
])('plain HTTP to %s is allowed: %s', (address, stays) => {
  expect(isLoopback(new URL(address))).toBe(stays);
  const work = () => resolveSettings({ baseUrl: address }, {}, NOTHING);
  if (stays) expect(work().baseUrl.value).toBeInstanceOf(URL);
  else expect(refusalOf(work).kind).toBe('config');
});

it('`config list` explains an invalid value without showing a password', () => {
  const mirror = 'postgres://u:secret@h/d';
  const stored = storedWith({
    default: { base_url: 'https://u:secret@x', timeout: 'soon', retries: [], mirror },
  });
  const rows = Object.values(
    explainSettings({}, { FLEET_SSE_URL: 'http://push.example.com' }, stored),
  );
  expect(
    rows.filter(({ problem }) => problem !== undefined).map(({ key, shown }) => [key, shown]),
  ).toEqual([
    ['base_url', '(refused)'],
    ['sse_url', '(refused)'],
    ['timeout', 'soon'],
    ['retries', '(refused)'],
    ['mirror', '(refused)'],
  ]);
  expect(JSON.stringify(rows)).not.toContain('secret');
  expect(explainSettings({}, {}, stored).timeout.problem?.kind).toBe('config');
});

describe('a key and its value', () => {
  it.each([
    ['base-url', 'base_url'],
    ['BASE_URL', 'base_url'],
    ['token-command', 'token_command'],
    ['constructor', undefined],
    ['token', undefined],
  ])('the key name %s refers to the setting %s', (written, key) =>
    expect(findKey(written)).toBe(key),
  );

  it.each([
    ['base_url', ' https://X.example.com/ ', 'https://x.example.com'],
    ['organization', `https://x/organizations/${ORGANIZATION.toUpperCase()}/`, ORGANIZATION],
    ['timeout', '2.5', 2.5],
    ['timeout', '.5', 0.5],
    ['retries', '0', 0],
    ['allow_http', 'True', true],
    ['allow_http', 'false', false],
    ['output', 'JSON', 'json'],
    ['token_command', ' pass show x ', 'pass show x'],
  ] as const)('stores %s %j as %j', (name, text, value) => {
    expect(parseForStore(name, text)).toEqual({ value });
  });

  it.each([
    ['base_url', ''],
    ['organization', ''],
    ['timeout', '-1'],
    ['timeout', 'Infinity'],
    ['retries', '1.5'],
    ['token_command', ' '],
    ['token_command', 'a\0b'],
  ] as const)('rejects %s %j', (name, text) => {
    expect(parseForStore(name, text)).toHaveProperty('reason');
  });
});
