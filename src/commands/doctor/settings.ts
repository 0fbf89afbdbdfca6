// Checks the settings: files, sources of the values, the token.

import { ANONYMOUS, type Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import { findPlace } from '../../settings/folder.js';
import {
  chooseProfile,
  explainSettings,
  nameProfile,
  profileFlag,
  type Setting,
  type Settings,
} from '../../settings/resolve.js';
import { findLooseness, loadStored, type Stored } from '../../settings/store.js';
import { findToken, readClaims, readExpiry, type TokenSource } from '../../settings/token.js';
import { hasModes } from '../../settings/trust.js';
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

/** A token that expires sooner is a warning. */
const SOON_MS = 5 * 60_000;

/** The settings as far as they are good, and what was found. Throws for a bad flag alone. */
export async function checkSettings({ io, flags }: Context): Promise<{ known: CheckedSettings; findings: Finding[] }> {
  const findings: Finding[] = [];
  const stored = await readStored(io.env, findings);
  const loose = [
    findLooseness(stored.credentialsPath, 'tokens') ?? [],
    findLooseness(stored.configPath, 'settings') ?? [],
  ].flat();
  if (loose.length === 0)
    findings.push(ok('file modes', hasModes ? 'the settings are readable by you alone' : 'not checked on Windows'));
  for (const { problem, command } of loose) findings.push(warning('file modes', problem, command));
  try {
    chooseProfile(flags, io.env, stored);
  } catch (thrown) {
    findings.push(failed('profile', asFleetError(thrown)));
  }
  // One that was named and is not there counts as one in which nothing is saved.
  const settings = explainSettings(flags, io.env, stored, nameProfile(flags, io.env, stored));
  for (const { problem } of Object.values(settings)) if (problem?.kind === 'usage') throw problem;

  const { profile, baseUrl, sseUrl, organization, tokenCommand: _, isProtected, ...others } = settings;
  const isNew = stored.profiles.has(profile.value) ? '' : ', nothing is saved in it yet';
  findings.push(ok('profile', `${profile.value} (${profile.from})${isNew}${isProtected.value ? ', protected' : ''}`));
  // Where none is set, the token may name one.
  const isChosen = organization.shown !== null || organization.problem !== undefined;
  for (const place of [baseUrl, sseUrl, ...(isChosen ? [organization] : [])])
    findings.push(checkPlace(place, profile.value));
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

function checkPlace({ key, shown, from, problem }: Setting, profile: string): Finding {
  if (problem !== undefined) return failed(key, problem);
  if (shown !== null) return ok(key, `${shown} (${from})`);
  const flag = profileFlag(profile);
  if (key === 'base_url') {
    const next = `fleet auth login${flag} asks for it; to try fleet: "fleet sandbox", then "fleet profile use sandbox"`;
    return failure(key, 'config', 'the address of the service is not set', next);
  }
  return warning(key, 'not set: fleet watch needs it', `fleet config set ${key} URL${flag}`);
}

/** Reads the token, which goes nowhere from here; what is found of it is put into `known`. */
export async function checkToken(context: Context, known: CheckedSettings, longestMs: number): Promise<Finding> {
  const { io, clock, signal, notice } = context;
  const { stored, settings } = known;
  const over = new AbortController();
  const cancel = clock.after(longestMs, () =>
    over.abort(new FleetError('config', `it did not come within ${longestMs / 1000} s`)),
  );
  try {
    const source = await findToken({
      env: io.env,
      stored,
      settings,
      clock,
      signal: AbortSignal.any([signal, over.signal]),
      notice,
      secrets: io.secrets,
      anonymous: () => context.client({ settings, token: ANONYMOUS }),
    });
    known.token = await source.get();
    known.renewal = source.refusalHint;
    return judgeToken(known.token, source, clock.wallMs());
  } catch (thrown) {
    signal.throwIfAborted();
    return failed('token', asFleetError(thrown));
  } finally {
    cancel();
    over.abort();
  }
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
