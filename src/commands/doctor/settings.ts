// What the doctor finds in the settings: files, origins of the values, the token; whatever of it is broken, the rest is used.

import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import { KEYS, type Key } from '../../settings/keys.js';
import { findPlace } from '../../settings/place.js';
import { chooseProfile, type Explained, explainSettings, profileFlag } from '../../settings/resolve.js';
import { closeCommand, findLooseFiles, loadStored, type Stored } from '../../settings/store.js';
import { findToken, readClaims, readExpiry, readIssued } from '../../settings/token.js';
import { describeRenewal, findTokenPlace } from '../../settings/token-place.js';
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
  /** How the token is renewed, once it is known where it comes from. */
  renewal: string | undefined;
  /** Where the addresses come from, for the command that changes them. */
  origins: { baseUrl: Explained; apiVersion: Explained; sseUrl: Explained; organization: Explained };
}

/** The most that a clock may be behind or ahead before the end of a token is judged wrongly. */
const SOON_MS = 5 * 60_000;
const LAST_PART = 0.1;

/** The settings as far as they are good, and what was found. Throws for a bad flag alone. */
export async function checkSettings({ io, flags }: Context): Promise<{ known: Known; findings: Finding[] }> {
  const findings: Finding[] = [];
  const stored = await readStored(io.env, findings);
  const loose = await findLooseFiles(stored);
  if (loose.length === 0) findings.push(ok('file modes', 'the settings are readable by you alone'));
  for (const file of loose) {
    const open = `${file.path} holds ${file.holds} and is open to others (mode ${file.mode})`;
    findings.push(warning('file modes', open, closeCommand(file)));
  }
  const usable = chooseUsable(flags, io.env, stored, findings);
  const explained = explainSettings(flags, io.env, usable);
  for (const { problem } of explained) if (problem?.kind === 'usage') throw problem;

  const [profile, ...settings] = explained;
  const name = profile?.value ?? 'default';
  const isNew = stored.profiles.has(name) ? '' : ', nothing is saved in it yet';
  const isProtected = explained.some(({ key, value }) => key === 'protected' && value === 'true') ? ', protected' : '';
  findings.push(ok('profile', `${name} (${profile?.from ?? 'default'})${isNew}${isProtected}`));
  const places = ['base_url', 'sse_url', 'organization'] as const;
  for (const key of places) findings.push(checkPlace(find(explained, key), name));
  const others = settings.filter(({ key }) => ![...places, 'token_command', 'protected'].includes(key));
  for (const { problem } of others) if (problem !== undefined) findings.push(failed('settings', problem));
  const good = others.filter(({ value, problem }) => problem === undefined && value !== null);
  const shown = good.map(({ key, value, from }) => `${key} ${value}${from === 'default' ? '' : ` (${from})`}`);
  findings.push(ok('settings', shown.join(', ')));
  return { known: gather(usable, name, explained), findings };
}

function gather(stored: Stored, profile: string, explained: readonly Explained[]): Known {
  const [baseUrl, sseUrl] = [find(explained, 'base_url'), find(explained, 'sse_url')];
  const [organization, apiVersion] = [find(explained, 'organization'), find(explained, 'api_version')];
  return {
    stored,
    profile,
    baseUrl: goodValue(KEYS.base_url, baseUrl),
    sseUrl: goodValue(KEYS.sse_url, sseUrl),
    organization: goodValue(KEYS.organization, organization),
    apiVersion: goodValue(KEYS.api_version, apiVersion) ?? '1.0',
    timeoutMs: goodValue(KEYS.timeout, find(explained, 'timeout')) ?? DEFAULT_TIMEOUT_MS,
    tokenCommand: goodValue(KEYS.token_command, find(explained, 'token_command')),
    renewal: undefined,
    origins: { baseUrl, apiVersion, sseUrl, organization },
  };
}

/** What a step may take when the setting itself is broken. */
const DEFAULT_TIMEOUT_MS = 30_000;

async function readStored(env: NodeJS.ProcessEnv, findings: Finding[]): Promise<Stored> {
  try {
    const stored = await loadStored(env);
    const count = stored.profiles.size;
    const holds = count === 0 ? 'nothing is saved yet' : `${count} ${count === 1 ? 'profile' : 'profiles'}`;
    findings.push(ok('settings file', `${stored.configPath}, ${holds}`));
    return stored;
  } catch (thrown) {
    findings.push(failed('settings file', asFleetError(thrown)));
    return { ...findPlace(env), active: undefined, profiles: new Map() };
  }
}

/** A profile that was named and is not there counts as one in which nothing is saved. */
function chooseUsable(flags: Context['flags'], env: NodeJS.ProcessEnv, stored: Stored, findings: Finding[]): Stored {
  try {
    chooseProfile(flags, env, stored);
    return stored;
  } catch (thrown) {
    findings.push(failed('profile', asFleetError(thrown)));
    const name = flags.profile ?? (env['FLEET_PROFILE'] || stored.active || 'default');
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
      `fleet auth login${flag} asks for it; to try fleet: "fleet sandbox", then "fleet profile use sandbox"`,
    );
  }
  const use = key === 'sse_url' ? 'fleet watch has no address to subscribe at' : 'fleet watch needs one to be named';
  return warning(key, `not set: ${use}`, `fleet config set ${key} ${key === 'sse_url' ? 'URL' : 'UUID'}${flag}`);
}

/** The token and how it is renewed, when there is one, and what was found; it goes nowhere from here. */
export async function checkToken(
  { io, clock, signal, notice }: Context,
  { stored, profile, tokenCommand, timeoutMs }: Known,
): Promise<{ token?: string; renewal?: string; finding: Finding }> {
  try {
    const place = await findTokenPlace(io.env, stored, profile, tokenCommand);
    if (place === undefined) {
      const next = `fleet auth login${profileFlag(profile)}, or set FLEET_TOKEN`;
      return { finding: failure('token', 'config', 'there is none', next) };
    }
    const settings = {
      profile: { value: profile, origin: 'default', from: '' },
      tokenCommand: { value: tokenCommand, origin: 'default', from: '' },
      timeoutMs: { value: timeoutMs, origin: 'default', from: '' },
    } as const;
    const input = { env: io.env, stored, settings, clock, signal, notice, secrets: io.secrets };
    const token = await (await findToken(input)).get();
    const renewal =
      place.kind === 'stored' ? `fleet auth login${profileFlag(profile)}` : describeRenewal(place, profile);
    return { token, renewal, finding: judgeToken(token, place.origin, renewal, clock.wallMs()) };
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    return { finding: failed('token', asFleetError(thrown)) };
  }
}

function judgeToken(token: string, origin: string, renewal: string, now: number): Finding {
  const expiry = readExpiry(token);
  const claims = Object.keys(readClaims(token) ?? {});
  const kind = claims.length === 0 ? 'not a JWT' : `claims ${claims.join(', ')}`;
  if (expiry === undefined) return ok('token', `${origin}; it does not say when it ends; ${kind}`);
  const iso = new Date(expiry).toISOString();
  if (expiry <= now) return failure('token', 'auth', `${origin}; it expired ${age(iso, now)} (${iso})`, renewal);
  const finding = `${origin}; it ends ${age(iso, now)} (${iso}); ${kind}`;
  const issued = readIssued(token);
  const isSoon = expiry - now < SOON_MS || (issued !== undefined && expiry - now < (expiry - issued) * LAST_PART);
  return isSoon ? warning('token', finding, renewal) : ok('token', finding);
}
