// What the doctor finds in the settings: files, origins of the values, the token; whatever of it is broken, the rest is used.

import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import { KEYS, type Key } from '../../settings/keys.js';
import { findPlace } from '../../settings/place.js';
import { chooseProfile, type Explained, explainSettings, profileFlag } from '../../settings/resolve.js';
import { closeCommand, findLooseFiles, loadStored, type Stored } from '../../settings/store.js';
import { findToken, findTokenPlace, readClaims, readExpiry, readIssued } from '../../settings/token.js';
import { age } from '../../terminal/time.js';
import { type Finding, failed, failure, ok, warning } from './finding.js';

/** The settings as far as they are good. */
export interface Known {
  stored: Stored;
  profile: string;
  baseUrl: URL | undefined;
  sseUrl: URL | undefined;
  organization: string | undefined;
  apiVersion: string;
  timeoutMs: number;
  tokenCommand: string | undefined;
  /** Where the addresses come from, for the command that changes them. */
  origins: { baseUrl: Explained; apiVersion: Explained; sseUrl: Explained };
}

/** The most that a clock may be behind or ahead before the end of a token is judged wrongly. */
const SOON_MS = 5 * 60_000;
const LAST_PART = 0.1;

/** Reads the settings, tells what it finds, and gives what can be worked with. Throws for a bad flag alone. */
export async function checkSettings(context: Context, tell: (finding: Finding) => Promise<void>): Promise<Known> {
  const { io, flags } = context;
  const stored = await readStored(io.env, tell);
  const loose = await findLooseFiles(stored);
  if (loose.length === 0) await tell(ok('file modes', 'the settings are for your eyes alone'));
  for (const file of loose) {
    const told = `${file.path} holds ${file.holds} and is open to others (mode ${file.mode})`;
    await tell(warning('file modes', told, closeCommand(file)));
  }
  const usable = await chooseUsable(context, stored, tell);
  const explained = explainSettings(flags, io.env, usable);
  for (const { problem } of explained) if (problem?.kind === 'usage') throw problem;

  const [profile, ...settings] = explained;
  const name = profile?.value ?? 'default';
  const isThere = stored.profiles.has(name);
  const isProtected = explained.some(({ key, value }) => key === 'protected' && value === 'true');
  await tell(
    ok(
      'profile',
      `${name} (${profile?.from ?? 'default'})${isThere ? '' : ', nothing is saved in it yet'}${isProtected ? ', protected' : ''}`,
    ),
  );
  for (const key of ['base_url', 'sse_url', 'organization'] as const) {
    const setting = find(explained, key);
    await tell(checkPlace(setting, name));
  }
  const others = settings.filter(
    ({ key }) => !['base_url', 'sse_url', 'organization', 'token_command', 'protected'].includes(key),
  );
  for (const setting of others) if (setting.problem !== undefined) await tell(failed('settings', setting.problem));
  const good = others.filter(({ problem }) => problem === undefined);
  await tell(
    ok(
      'settings',
      good.map(({ key, value, from }) => `${key} ${value}${from === 'default' ? '' : ` (${from})`}`).join(', '),
    ),
  );

  const baseUrl = find(explained, 'base_url');
  const sseUrl = find(explained, 'sse_url');
  const apiVersion = find(explained, 'api_version');
  return {
    stored: usable,
    profile: name,
    baseUrl: goodValue(KEYS.base_url, baseUrl),
    sseUrl: goodValue(KEYS.sse_url, sseUrl),
    organization: goodValue(KEYS.organization, find(explained, 'organization')),
    apiVersion: goodValue(KEYS.api_version, apiVersion) ?? '1.0',
    timeoutMs: goodValue(KEYS.timeout, find(explained, 'timeout')) ?? DEFAULT_TIMEOUT_MS,
    tokenCommand: goodValue(KEYS.token_command, find(explained, 'token_command')),
    origins: { baseUrl, apiVersion, sseUrl },
  };
}

/** What a step may take when the setting itself is broken. */
const DEFAULT_TIMEOUT_MS = 30_000;

async function readStored(env: NodeJS.ProcessEnv, tell: (finding: Finding) => Promise<void>): Promise<Stored> {
  try {
    const stored = await loadStored(env);
    const count = stored.profiles.size;
    const profiles = `${count} ${count === 1 ? 'profile' : 'profiles'}`;
    await tell(
      ok(
        'settings file',
        count === 0 ? `${stored.configPath}, nothing is saved yet` : `${stored.configPath}, ${profiles}`,
      ),
    );
    return stored;
  } catch (thrown) {
    await tell(failed('settings file', asFleetError(thrown)));
    return { ...findPlace(env), active: undefined, profiles: new Map() };
  }
}

/** A profile that was named and is not there counts as one in which nothing is saved. */
async function chooseUsable(
  { io, flags }: Context,
  stored: Stored,
  tell: (finding: Finding) => Promise<void>,
): Promise<Stored> {
  try {
    chooseProfile(flags, io.env, stored);
    return stored;
  } catch (thrown) {
    await tell(failed('profile', asFleetError(thrown)));
    const name = flags.profile ?? (io.env['FLEET_PROFILE'] || stored.active || 'default');
    return { ...stored, profiles: new Map(stored.profiles).set(name, {}) };
  }
}

function find(explained: readonly Explained[], wanted: Explained['key']): Explained {
  return (
    explained.find(({ key }) => key === wanted) ?? { key: wanted, value: null, origin: 'default', from: 'default' }
  );
}

function goodValue<T>(key: Key<T>, { value, problem }: Explained): T | undefined {
  if (value === null || problem !== undefined) return undefined;
  const parsed = key.parse(value);
  return 'value' in parsed ? parsed.value : undefined;
}

function checkPlace({ key, value, from, problem }: Explained, profile: string): Finding {
  if (problem !== undefined) return failed(key, problem);
  if (value !== null) return ok(key, `${value} (${from})`);
  const flag = profileFlag(profile);
  if (key === 'base_url') {
    return failure(
      key,
      'config',
      'the address of the service is not set',
      `fleet auth login${flag} asks for it; "fleet sandbox" starts a service to try`,
    );
  }
  const use = key === 'sse_url' ? 'fleet watch has no address to subscribe at' : 'fleet watch needs one to be named';
  return warning(key, `not set: ${use}`, `fleet config set ${key} ${key === 'sse_url' ? 'URL' : 'UUID'}${flag}`);
}

/** The token, when there is one; it goes nowhere from here. */
export async function checkToken(
  context: Context,
  known: Known,
  tell: (finding: Finding) => Promise<void>,
): Promise<string | undefined> {
  const { io, clock, signal, notice } = context;
  const now = clock.wallMs;
  const { stored, profile, tokenCommand, timeoutMs } = known;
  let token: string;
  let origin: string;
  try {
    const place = await findTokenPlace(io.env, stored, profile, tokenCommand);
    if (place === undefined) {
      await tell(
        failure('token', 'config', 'there is none', `fleet auth login${profileFlag(profile)}, or set FLEET_TOKEN`),
      );
      return undefined;
    }
    origin = place.origin;
    const settings = {
      profile: { value: profile, origin: 'default', from: '' },
      tokenCommand: { value: tokenCommand, origin: 'default', from: '' },
      timeoutMs: { value: timeoutMs, origin: 'default', from: '' },
    } as const;
    const input = { env: io.env, stored, settings, clock, signal, notice, secrets: io.secrets };
    token = await (await findToken(input)).get();
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    await tell(failed('token', asFleetError(thrown)));
    return undefined;
  }
  await tell(judgeToken(token, origin, profile, now()));
  return token;
}

function judgeToken(token: string, origin: string, profile: string, now: number): Finding {
  const expiry = readExpiry(token);
  const claims = Object.keys(readClaims(token) ?? {});
  const told = claims.length === 0 ? 'not a JWT' : `claims ${claims.join(', ')}`;
  if (expiry === undefined) return ok('token', `${origin}; it does not say when it ends; ${told}`);
  const iso = new Date(expiry).toISOString();
  const renew = origin.startsWith('stored')
    ? `fleet auth login${profileFlag(profile)}`
    : `renew it at its source: ${origin}`;
  if (expiry <= now) return failure('token', 'auth', `${origin}; it expired ${age(iso, now)} (${iso})`, renew);
  const finding = `${origin}; it ends ${age(iso, now)} (${iso}); ${told}`;
  const issued = readIssued(token);
  const isSoon = expiry - now < SOON_MS || (issued !== undefined && expiry - now < (expiry - issued) * LAST_PART);
  return isSoon ? warning('token', finding, renew) : ok('token', finding);
}

/** A signal that is aborted with the error after a time, or with the other signal; `end` lets go of both. */
export function limitTime(
  signal: AbortSignal,
  milliseconds: number,
  late: Error,
): { signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal.reason);
  const timer = setTimeout(() => controller.abort(late), milliseconds);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    },
  };
}
