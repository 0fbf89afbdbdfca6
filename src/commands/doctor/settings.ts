// What the doctor finds in the settings: files, origins of the values, the token; whatever of it is broken, the rest is used.

import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import { findPlace } from '../../settings/place.js';
import {
  chooseProfile,
  type Explained,
  type ExplainedSettings,
  explainSettings,
  profileFlag,
} from '../../settings/resolve.js';
import { closeCommand, findLooseFiles, loadStored, type Stored } from '../../settings/store.js';
import { findToken, readClaims, readExpiry, readIssued } from '../../settings/token.js';
import { describeRenewal, findTokenPlace } from '../../settings/token-place.js';
import { age } from '../../terminal/time.js';
import { type Finding, failed, failure, ok, warning } from './finding.js';

/** What is known once the settings were looked at: what is refused of them has its default. */
export interface Known {
  stored: Stored;
  settings: ExplainedSettings;
  token?: string;
  /** How the token is renewed, once it is known where it comes from. */
  renewal?: string;
}

/** A token that ends sooner than this, or in the last part of its life, is announced. */
const SOON_MS = 5 * 60_000;
const LAST_PART = 0.1;

/** The settings as far as they are good, and what was found. Throws for a bad flag alone. */
export async function checkSettings({ io, flags }: Context): Promise<{ known: Known; findings: Finding[] }> {
  const findings: Finding[] = [];
  const found = await readStored(io.env, findings);
  const loose = findLooseFiles(found);
  if (loose.length === 0) findings.push(ok('file modes', 'the settings are readable by you alone'));
  for (const file of loose) {
    const open = `${file.path} holds ${file.holds} and is open to others (mode ${file.mode})`;
    findings.push(warning('file modes', open, closeCommand(file)));
  }
  const stored = chooseUsable(flags, io.env, found, findings);
  const settings = explainSettings(flags, io.env, stored);
  for (const { problem } of Object.values(settings)) if (problem?.kind === 'usage') throw problem;

  const { profile, baseUrl, sseUrl, organization, tokenCommand: _, isProtected, ...others } = settings;
  const isNew = found.profiles.has(profile.value) ? '' : ', nothing is saved in it yet';
  findings.push(ok('profile', `${profile.value} (${profile.from})${isNew}${isProtected.value ? ', protected' : ''}`));
  for (const place of [baseUrl, sseUrl, organization]) findings.push(checkPlace(place, profile.value));
  const shown: string[] = [];
  for (const { key, shown: value, from, problem } of Object.values(others)) {
    if (problem !== undefined) findings.push(failed('settings', problem));
    else if (value !== null) shown.push(`${key} ${value}${from === 'default' ? '' : ` (${from})`}`);
  }
  findings.push(ok('settings', shown.join(', ')));
  return { known: { stored, settings }, findings };
}

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

function checkPlace({ key, shown, from, problem }: Explained, profile: string): Finding {
  if (problem !== undefined) return failed(key, problem);
  if (shown !== null) return ok(key, `${shown} (${from})`);
  const flag = profileFlag(profile);
  if (key === 'base_url') {
    const next = `fleet auth login${flag} asks for it; to try fleet: "fleet sandbox", then "fleet profile use sandbox"`;
    return failure(key, 'config', 'the address of the service is not set', next);
  }
  const use = key === 'sse_url' ? 'fleet watch needs it' : 'fleet watch needs one as an argument';
  return warning(key, `not set: ${use}`, `fleet config set ${key} ${key === 'sse_url' ? 'URL' : 'UUID'}${flag}`);
}

/** Reads the token, which goes nowhere from here; what is found of it is put into `known`. */
export async function checkToken({ io, clock, signal, notice }: Context, known: Known): Promise<Finding> {
  const { stored, settings } = known;
  const profile = settings.profile.value;
  try {
    const place = await findTokenPlace(io.env, stored, profile, settings.tokenCommand.value);
    if (place === undefined)
      return failure('token', 'config', 'there is none', `fleet auth login${profileFlag(profile)}, or set FLEET_TOKEN`);
    const source = await findToken({ env: io.env, stored, settings, clock, signal, notice, secrets: io.secrets });
    known.token = await source.get();
    known.renewal =
      place.kind === 'stored' ? `fleet auth login${profileFlag(profile)}` : describeRenewal(place, profile);
    return judgeToken(known.token, place.origin, known.renewal, clock.wallMs());
  } catch (thrown) {
    signal.throwIfAborted();
    return failed('token', asFleetError(thrown));
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
