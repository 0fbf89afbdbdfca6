// Checks the settings: files, sources of the values, the token.

import type { TopicRole } from '../../api/push.js';
import { ANONYMOUS, type Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import { findPlace } from '../../settings/folder.js';
import { explainSettings, profileFlag, type Settings } from '../../settings/resolve.js';
import { loadStored, type Stored } from '../../settings/store.js';
import { findToken, organizationsOf, readClaims, readExpiry, type TokenSource } from '../../settings/token.js';
import { findLooseness } from '../../settings/trust.js';
import { setVariables } from '../../shell-words.js';
import { age } from '../../terminal/time.js';
import { type Finding, failed, failure, ok, warning } from './finding.js';

/** What is known once the settings were looked at: what is refused of them has its default. */
export interface CheckedSettings {
  stored: Stored;
  settings: Settings;
  token?: string;
  /** How the token is renewed, once it is known where it comes from. */
  renewal?: string;
}

/** What is asked over the network, and how. */
export interface Examination extends CheckedSettings {
  context: Context;
  /** The role of `--role`. */
  role: TopicRole | undefined;
}

/** A token that expires sooner is a warning. */
const SOON_MS = 5 * 60_000;

/** The settings as far as they are good, and what was found. Throws for a bad flag alone. */
export async function checkSettings({ io, flags }: Context): Promise<{ known: CheckedSettings; findings: Finding[] }> {
  const findings: Finding[] = [];
  let stored: Stored = { ...findPlace(io.env), active: undefined, profiles: new Map() };
  try {
    stored = await loadStored(io.env);
    const { size } = stored.profiles;
    const holds = size === 0 ? 'nothing is saved yet' : `${size} ${size === 1 ? 'profile' : 'profiles'}`;
    findings.push(ok('settings file', `${stored.configPath}, ${holds}`));
  } catch (thrown) {
    findings.push(failed('settings file', asFleetError(thrown)));
  }
  const loose = [findLooseness(stored.credentialsPath, 'tokens'), findLooseness(stored.configPath, 'settings')];
  for (const found of loose)
    if (found !== undefined) findings.push(warning('file modes', found.problem, found.command));
  const settings = explainSettings({ flags, env: io.env, stored });
  const { value: profile } = settings.profile;
  for (const { key, shown, origin, from, problem } of Object.values(settings)) {
    if (problem?.kind === 'usage') throw problem;
    const isNew = key === 'profile' && !stored.profiles.has(profile) ? ', nothing is saved in it yet' : '';
    if (problem !== undefined) findings.push(failed(key, problem));
    else if (key === 'profile' || origin !== 'default')
      findings.push(ok(key, key === 'token_command' ? from : `${shown} (${from})${isNew}`));
    else findings.push(...missing(key, profileFlag(profile)));
  }
  return { known: { stored, settings }, findings };
}

/** What to do about an address that is not set. */
function missing(key: string, flag: string): Finding[] {
  const ways = `fleet auth login${flag} asks for it; to try fleet: "fleet sandbox", then "fleet profile use sandbox"`;
  if (key === 'base_url') return [failure(key, 'config', 'the address of the service is not set', ways)];
  return key === 'sse_url' ? [warning(key, 'not set: fleet watch needs it', `fleet config set ${key} URL${flag}`)] : [];
}

/** A token that does not come sooner is a finding. */
const TOKEN_MS = 5000;

/** Reads the token, which goes nowhere from here, and looks for an organization in it; what is found of it is put into `known`. */
export async function checkToken(context: Context, known: CheckedSettings): Promise<Finding[]> {
  const { io, clock, signal, notice } = context;
  const settings = limited(known.settings, TOKEN_MS);
  const over = new AbortController();
  const findings: Finding[] = [];
  try {
    const source = await findToken({
      env: io.env,
      stored: known.stored,
      settings,
      clock,
      signal: AbortSignal.any([signal, over.signal]),
      notice,
      secrets: io.secrets,
      anonymous: () => context.client({ settings, token: ANONYMOUS }),
    });
    known.token = await source.get();
    known.renewal = source.refusalHint;
    findings.push(judgeToken(known.token, source, clock.wallMs()));
  } catch (thrown) {
    signal.throwIfAborted();
    findings.push(failed('token', asFleetError(thrown)));
  } finally {
    over.abort();
  }
  return [...findings, ...lookForOrganization(known)];
}

/** The settings with a shorter limit. */
export function limited(settings: Settings, milliseconds: number): Settings {
  const { timeout } = settings;
  return { ...settings, timeout: { ...timeout, value: Math.min(timeout.value, milliseconds) } };
}

/** The only one that the token names is used, as every command does. */
function lookForOrganization({ settings: { organization, profile }, token = '' }: CheckedSettings): Finding[] {
  if (organization.shown !== null || organization.problem !== undefined) return [];
  const [first, ...others] = organizationsOf(token);
  if (first !== undefined && others.length === 0)
    return [ok('organization', `not set; the only one that the token names is used: ${first}`)];
  const next = `fleet config set organization NAME${profileFlag(profile.value)}; "fleet organizations list" shows them`;
  const named = first === undefined ? '' : `, and the token names ${others.length + 1}`;
  return [warning('organization', `not set${named}: fleet watch needs one as an argument`, next)];
}

/** The command that changes a setting where it is set now. */
export function changeCommand({ settings }: CheckedSettings, name: keyof Settings, value: string): string {
  const { key, origin, from } = settings[name];
  const command = `fleet config set ${key} ${value}${profileFlag(settings.profile.value)}`;
  if (origin === 'flag') return `${from} ${value}, or for good: ${command}`;
  return origin === 'environment' ? setVariables({ [from]: value }) : command;
}

function judgeToken(token: string, { origin, refusalHint }: TokenSource, now: number): Finding {
  const expiry = readExpiry(token);
  const claims = Object.keys(readClaims(token) ?? {});
  const kind = claims.length === 0 ? 'not a JWT' : `claims ${claims.join(', ')}`;
  if (expiry === undefined) return ok('token', `${origin}; it does not say when it ends; ${kind}`);
  const iso = new Date(expiry).toISOString();
  if (expiry <= now) return failure('token', 'auth', `${origin}; it expired ${age(iso, now)} (${iso})`, refusalHint);
  const finding = `${origin}; it ends ${age(iso, now)} (${iso}); ${kind}`;
  return expiry - now < SOON_MS ? warning('token', finding, refusalHint) : ok('token', finding);
}
