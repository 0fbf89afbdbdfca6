// Checks the settings: files, sources of values, and the token.

import type { TopicRole } from '../../api/push.js';
import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import { isScreen } from '../../list/output-file.js';
import { findPlace } from '../../settings/config-folder.js';
import { describeCollisions } from '../../settings/profile-name.js';
import { explainSettings, profileFlag, type Settings } from '../../settings/resolve.js';
import { loadStored, type Stored } from '../../settings/store.js';
import { organizationsOf, readClaims, readExpiry, type TokenSource } from '../../settings/token.js';
import { statIfThere } from '../../settings/trust.js';
import { showElapsed } from '../../system/age.js';
import { quoteForShell, setVariables } from '../../system/shell-words.js';
import { MINUTE_MS } from '../../system/time-units.js';
import { showLocalTime, type TimeZone } from '../../system/time-zone.js';
import { count } from '../../terminal/count.js';
import { type Finding, failed, failure, ok, warning } from './finding.js';

/** The checked settings. An invalid setting is replaced by its default value. */
export interface CheckedSettings {
  stored: Stored;
  settings: Settings;
  token?: string;
  /** How to renew the token, if its source is known. */
  renewal?: string;
}

/** The input of the network checks. */
export interface Examination extends CheckedSettings {
  context: Context;
  /** The role given with `--role`. */
  role: TopicRole | undefined;
  /** A signal that is aborted when the time limit for all checks is over. */
  limit: AbortSignal;
  /**
   * The UUID of the organization in the settings. Undefined when no organization is set, or when it
   * was not found.
   */
  organization?: string | undefined;
}

/**
 * The maximum time for one answer. A slower answer is reported as a finding. The time is limited
 * because the operator is waiting for the report.
 */
const LONGEST_WAIT_MS = 5000;

/** The permission bits of the group and other users. */
const OTHERS_MODE_BITS = 0o077;

/** A token that expires sooner than this causes a warning. */
const SOON_MS = 5 * MINUTE_MS;

/**
 * Returns the valid settings, and the findings about all settings. Throws only when a flag is
 * invalid.
 */
export async function checkSettings({
  io,
  flags,
}: Context): Promise<{ known: CheckedSettings; findings: Finding[] }> {
  const findings: Finding[] = [];
  let stored: Stored = { ...findPlace(io.env), active: undefined, profiles: new Map() };
  try {
    stored = await loadStored(io.env);
    const { size } = stored.profiles;
    const holds = size === 0 ? 'nothing is saved yet' : count(size, 'profile');
    findings.push(ok('settings file', `${stored.configPath}, ${holds}`));
  } catch (thrown) {
    findings.push(failed('settings file', asFleetError(thrown)));
  }
  for (const { problem, command } of describeCollisions(stored.profiles.keys(), stored.active))
    findings.push(warning('profiles', problem, command));
  findings.push(...checkFileModes(stored.credentialsPath));
  const settings = explainSettings({ flags, env: io.env, stored });
  const { value: profile } = settings.profile;
  for (const { key, shown, origin, from, problem } of Object.values(settings)) {
    if (problem?.kind === 'usage') throw problem;
    const isNew =
      key === 'profile' && !stored.profiles.has(profile) ? ', nothing is saved in it yet' : '';
    if (problem !== undefined) findings.push(failed(key, problem));
    else if (key === 'profile' || origin !== 'default')
      findings.push(ok(key, key === 'token_command' ? from : `${shown} (${from})${isNew}`));
    else findings.push(...missing(key, profileFlag(profile)));
  }
  const { timeout } = settings;
  const limit = { ...timeout, value: Math.min(timeout.value, LONGEST_WAIT_MS) };
  return { known: { stored, settings: { ...settings, timeout: limit } }, findings };
}

/**
 * Warns when other users can read the file with the tokens. On Windows this is not checked, because
 * Node cannot read file permissions there.
 */
function checkFileModes(path: string): Finding[] {
  if (process.platform === 'win32')
    return [ok('file modes', 'not checked on Windows: Node cannot read the permissions of files')];
  const mode = statIfThere(path)?.mode ?? 0;
  if ((mode & OTHERS_MODE_BITS) === 0) return [];
  return [
    warning(
      'file modes',
      `${path} holds tokens and is open to others`,
      `chmod 600 ${quoteForShell(path)}`,
    ),
  ];
}

/** Returns the findings when no address is set. Each finding says how to set one. */
function missing(key: string, flag: string): Finding[] {
  const ways = `run "fleet auth login${flag}", which asks for it; to try fleet, run "fleet sandbox", then "fleet profile use sandbox"`;
  if (key === 'base_url')
    return [failure(key, 'config', 'the address of the service is not set', ways)];
  return key === 'sse_url'
    ? [warning(key, 'not set: fleet watch needs it', `fleet config set ${key} URL${flag}`)]
    : [];
}

/**
 * Reads the token without sending it, and looks for an organization in it. Stores the token in
 * `known`.
 */
export async function checkToken(
  context: Context,
  known: CheckedSettings,
  limit: AbortSignal,
): Promise<Finding[]> {
  const { clock, signal } = context;
  const zone = isScreen(context) ? context.zone : undefined;
  const findings: Finding[] = [];
  try {
    const source = await context.token(known);
    known.token = await orAborted(source.get(), limit);
    known.renewal = source.refusalHint;
    findings.push(judgeToken(known.token, source, { now: clock.wallMs(), zone }));
  } catch (thrown) {
    signal.throwIfAborted();
    findings.push(failed('token', asFleetError(thrown)));
  }
  return [...findings, ...lookForOrganization(known)];
}

/**
 * Returns the result of the work. If the signal is aborted before the work is done, rejects with
 * the signal's reason.
 */
async function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([work, aborted]);
}

/**
 * Reports the default organization. When the token contains only one organization, all commands use
 * it by default.
 */
function lookForOrganization({
  settings: { organization, profile },
  token = '',
}: CheckedSettings): Finding[] {
  if (organization.shown !== null || organization.problem !== undefined) return [];
  const [first, ...others] = organizationsOf(token);
  if (first !== undefined && others.length === 0)
    return [ok('organization', `not set; the only one that the token names is used: ${first}`)];
  // When the token contains several organizations, a later check looks up their names and reports
  // them.
  if (others.length > 0) return [];
  const next = `fleet config set organization NAME${profileFlag(profile.value)}; "fleet organizations list" shows them`;
  return [warning('organization', 'not set: fleet watch needs one as an argument', next)];
}

/**
 * Returns the command that changes a setting where it is currently set, for example in the
 * environment.
 */
export function changeCommand(
  { settings }: CheckedSettings,
  name: keyof Settings,
  value: string,
): string {
  const { key, origin, from } = settings[name];
  const command = `fleet config set ${key} ${value}${profileFlag(settings.profile.value)}`;
  if (origin === 'flag') return `use ${from} ${value}, or for good: ${command}`;
  return origin === 'environment' ? setVariables({ [from]: value }) : command;
}

function judgeToken(
  token: string,
  { origin, refusalHint }: TokenSource,
  { now, zone }: { now: number; zone: TimeZone | undefined },
): Finding {
  const expiry = readExpiry(token);
  const claims = Object.keys(readClaims(token) ?? {}).join(', ');
  const kind = claims === '' ? 'not a JWT' : `claims ${claims}`;
  if (expiry === undefined) return ok('token', `${origin}; it does not say when it ends; ${kind}`);
  const at = zone === undefined ? new Date(expiry).toISOString() : showLocalTime(expiry, zone);
  const finding = `${origin}; it ${expiry <= now ? 'expired' : 'ends'} ${showElapsed(now - expiry)} (${at}); ${kind}`;
  if (expiry <= now) return failure('token', 'auth', finding, refusalHint);
  return expiry - now < SOON_MS ? warning('token', finding, refusalHint) : ok('token', finding);
}
