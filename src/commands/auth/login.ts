// `fleet auth login`: gets an access token, checks it, and stores it with the URLs. The user enters
// the token, or an e-mail address and a password.

import { isUtf8 } from 'node:buffer';
import { LOGIN_PATH, postLogin, refreshPathOf } from '../../api/login.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import { parseAddress, showAddress } from '../../settings/keys.js';
import { readToken } from '../../settings/parse-token.js';
import { checkProfileName, DEFAULT_PROFILE } from '../../settings/profile-name.js';
import type { Setting, Settings } from '../../settings/resolve.js';
import {
  profileFlag,
  refusePlainHttp,
  requireBaseUrl,
  resolveSettings,
} from '../../settings/resolve.js';
import { isSandboxProfile } from '../../settings/sandbox-profile.js';
import {
  isRenewable,
  loadStored,
  type ProfileValues,
  type Stored,
  type StoredToken,
  saveProfile,
  saveToken,
  useProfile,
} from '../../settings/store.js';
import { organizationsOf, readExpiry } from '../../settings/token.js';
import { findTokenPlace } from '../../settings/token-place.js';
import { showElapsed } from '../../system/age.js';
import { showLocalTime } from '../../system/time-zone.js';
import { canAsk } from '../../terminal/prompt.js';
import { readStdin } from '../../terminal/stdin.js';
import { checkLogin, clientOfLogin, withPrefixHint } from './check.js';
import type { LoginOptions } from './flags.js';
import { askAddress, askOrganization, askPassword, askToken } from './questions.js';

/** The maximum size of the input. A token has a few hundred bytes, so longer input is a mistake. */
const STDIN_LIMIT_BYTES = 65_536;

export async function login(context: Context, options: LoginOptions): Promise<void> {
  const { io, flags, notice } = context;
  checkFlags(options);
  const stored = await loadStored(io.env);
  const settings = resolveSettings({ flags, env: io.env, stored }, { mayBeNew: true });
  const inUse = settings.profile.value;
  checkProfileName(inUse, stored.profiles.keys());
  const asks = canAsk(context) && options.withToken !== true && options.passwordStdin !== true;

  // The URL of the sandbox's profile is never the default for a login, even while this profile is
  // in use.
  const isSandbox = isSandboxProfile(inUse, stored.profiles.get(inUse));
  const known =
    isSandbox && settings.baseUrl.origin === 'profile' ? undefined : settings.baseUrl.value;
  const isNewPlace = asks && known === undefined;
  const baseUrl = isNewPlace ? await askAddress(context, 'Address of the service') : known;
  const target = chooseTarget(stored, settings.profile, baseUrl);
  const { profile, reason, replaced } = target;
  // The profile may be named after the URL's host, and this name may be invalid. It is checked
  // before the user types a password.
  checkProfileName(profile, stored.profiles.keys());
  const where = `profile "${profile}"${baseUrl === undefined ? '' : ` at ${showAddress(baseUrl)}`}`;
  await notice(`logging in: ${where}`);
  if (reason !== undefined) await notice(`this is not the profile in use, because ${reason}`);
  if (replaced !== undefined) await notice(`this replaces the address ${showAddress(replaced)}`);
  const isKnown = ({ shown, origin }: Setting) =>
    shown !== null && (origin !== 'profile' || profile === inUse);
  // With `--base-url`, the login also asks for the push URL. It does the same after it has asked
  // for the base URL.
  const needsPush = isNewPlace || (asks && settings.baseUrl.origin === 'flag');
  const sseUrl =
    needsPush && !isKnown(settings.sseUrl)
      ? await askAddress(context, 'Push address', { isNeeded: false })
      : undefined;
  for (const [key, url] of Object.entries({ base_url: baseUrl, sse_url: sseUrl }))
    if (url !== undefined) refusePlainHttp(url, key, stored, profile);

  const obtained = await obtain(context, options, { settings, baseUrl, where });
  const { token } = obtained;
  const organization =
    isKnown(settings.organization) && replaced === undefined
      ? settings.organization.value
      : undefined;
  const place =
    options.check === false || baseUrl === undefined ? undefined : { settings, baseUrl, token };
  if (place !== undefined) await checkLogin(context, place, organization);
  const asksOrganization =
    asks && organization === undefined && (isNewPlace || !stored.profiles.has(profile));
  const chosen = asksOrganization
    ? await askOrganization(context, token, place, isNewPlace)
    : undefined;

  // A value from an environment variable is saved in only two cases: the login is stored in a
  // profile that is not in use, or it switches its profile to another service.
  const isElsewhere = reason !== undefined || replaced !== undefined;
  const given = ({ shown, origin }: Setting) =>
    origin === 'flag' || (origin === 'environment' && isElsewhere)
      ? (shown ?? undefined)
      : undefined;
  const values = {
    base_url: isNewPlace && baseUrl !== undefined ? showAddress(baseUrl) : given(settings.baseUrl),
    sse_url: sseUrl === undefined ? given(settings.sseUrl) : showAddress(sseUrl),
    organization: chosen ?? given(settings.organization),
  };
  await save(context, stored, target, values, obtained);
  await reportEnd(context, obtained);
  await warn(context, profile, token);
}

/**
 * The profile that stores a login. The profile that the user named has priority. Next comes the
 * profile in use, if it belongs to the same service. Otherwise the login uses a profile with the
 * name of the host.
 */
interface LoginTarget {
  profile: string;
  /** Why the login is not stored in the profile in use. Undefined when it is stored there. */
  reason?: string;
  /**
   * The profile's previous URL. Set when the login switches the profile to another service. In this
   * case, the profile's other values are removed.
   */
  replaced?: URL;
}

/**
 * Chooses the profile for a URL. `address` may be undefined. Throws a FleetError of kind `usage`
 * for the sandbox's profile.
 */
function chooseTarget(
  stored: Stored,
  { value: profile, origin }: Setting<string>,
  address: URL | undefined,
): LoginTarget {
  const isNamed = origin === 'flag' || origin === 'environment';
  const isSandbox = isSandboxProfile(profile, stored.profiles.get(profile));
  if (isNamed && isSandbox)
    throw usageError(
      `the profile "${profile}" belongs to "fleet sandbox", which overwrites it`,
      'to choose another name, run: fleet auth login --profile NAME',
    );
  const parsed = parseAddress(String(stored.profiles.get(profile)?.['base_url'] ?? ''));
  const held = 'value' in parsed && !isSandbox ? parsed.value : undefined;
  const isOther = held !== undefined && address !== undefined && held.origin !== address.origin;
  if (!isSandbox && (isNamed || !isOther))
    return isOther ? { profile, replaced: held } : { profile };
  if (address === undefined)
    throw usageError(
      `the profile in use, "${profile}", belongs to "fleet sandbox"`,
      'to set the address of the service, run: fleet auth login --base-url URL',
    );
  const name = address.host.replace(/[^\w.-]+/g, '-').replace(/^-/, '');
  const holds = held === undefined ? 'belongs to "fleet sandbox"' : `holds ${showAddress(held)}`;
  return { profile: name, reason: `"${profile}" ${holds}` };
}

function checkFlags(options: LoginOptions): void {
  const { withToken, email, passwordStdin, loginPath, clientId } = options;
  if (withToken === true && email !== undefined)
    throw usageError(
      '--with-token and --email cannot be used together',
      '--email is for a login with a password, not with a token',
    );
  const needsEmail = {
    '--password-stdin': passwordStdin,
    '--login-path': loginPath,
    '--client-id': clientId,
  };
  for (const [flag, value] of Object.entries(needsEmail))
    if (email === undefined && value !== undefined)
      throw usageError(
        `${flag} needs --email`,
        'for example: fleet auth login --email you@example.org',
      );
}

/**
 * Returns the token. Reads it from stdin, asks for it on the terminal, or requests it with a
 * password.
 */
async function obtain(
  context: Context,
  { email, loginPath = LOGIN_PATH, clientId, passwordStdin, withToken }: LoginOptions,
  { settings, baseUrl, where }: { settings: Settings; baseUrl: URL | undefined; where: string },
): Promise<StoredToken> {
  const { secrets } = context.io;
  if (email === undefined) {
    const typed =
      withToken === true
        ? await pipe(context, '--with-token', 'token')
        : await askToken(context, where);
    return {
      token: readToken(typed, 'the token', 'pass only the token, on one line', secrets, usageError),
    };
  }
  const place = { settings, baseUrl: baseUrl ?? requireBaseUrl(settings) };
  const typed =
    passwordStdin === true
      ? await pipe(context, '--password-stdin', 'password')
      : await askPassword(context, email, where);
  // Editors on Windows put a byte order mark at the beginning of a file.
  const password = typed.replace(/^\uFEFF/, '').replace(/\r?\n$/, '');
  if (/[\r\n\0]/.test(password))
    throw usageError(
      'the password has several lines or a NUL character',
      'pass the password on one line; nothing was sent',
    );
  if (password === '') throw usageError('the password is empty', 'pass the password on one line');
  secrets.add(password, true);
  const client = await clientOfLogin(context, place);
  const answer = await postLogin(client, loginPath, { email, password }).catch(async (thrown) => {
    const hinted = await withPrefixHint(context, place, thrown);
    if (hinted !== thrown || !(thrown instanceof FleetError) || thrown.kind !== 'not-found')
      throw hinted;
    throw thrown.with({
      hint: 'this service has no login at this path: pass --login-path, or enter a token with "fleet auth login"',
    });
  });
  const hint =
    'choose another login address with --login-path, or enter a token with "fleet auth login"';
  const failure = (message: string) => new FleetError('service', message, { hint });
  const { refreshToken } = answer;
  if (typeof refreshToken === 'string') secrets.addToken(refreshToken);
  const what = `the token that ${loginPath} answered`;
  const token = readToken(answer.token, what, hint, secrets, failure);
  await context.notice(`✓ logged in as ${email}`);
  const login = {
    email,
    refreshPath: refreshPathOf(loginPath),
    sinceMs: context.clock.wallMs(),
    refreshToken,
    clientId,
  };
  return { token, login };
}

async function pipe(context: Context, flag: string, what: string): Promise<string> {
  // Input from a terminal is refused, because the terminal would show the secret while the user
  // types it.
  if (context.io.stdin.isTTY === true)
    throw usageError(
      `${flag} reads the ${what} from a pipe or a file`,
      `remove ${flag} to be prompted, or redirect a file: < FILE`,
    );
  const bytes = await readStdin(context, STDIN_LIMIT_BYTES, `stdin has more than a ${what}`);
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw usageError(
    `the ${what} on stdin is not UTF-8`,
    `save the ${what} as UTF-8; otherwise the service would receive different characters`,
  );
}

/**
 * Saves the values and the token. Removes the values that belong to the profile's previous service.
 */
async function save(
  { notice }: Context,
  stored: Stored,
  { profile, reason, replaced }: LoginTarget,
  values: ProfileValues,
  { token, login }: StoredToken,
): Promise<void> {
  const held = stored.profiles.get(profile);
  const changes = Object.entries(values).filter(
    ([key, value]) => value !== undefined || (replaced !== undefined && held?.[key] !== undefined),
  );
  await saveProfile(stored, profile, Object.fromEntries(changes));
  await saveToken(stored, profile, token, login);
  for (const [key, value] of changes)
    await notice(
      value === undefined
        ? `✓ removed ${key}, which belonged to the previous service`
        : `✓ saved ${key} ${value}`,
    );
  const mode = process.platform === 'win32' ? '' : ' (mode 0600)';
  await notice(`✓ stored the token for profile "${profile}" in ${stored.credentialsPath}${mode}`);
  // The login makes its profile the profile in use in two cases: this is the first profile, or the
  // login itself chose the profile.
  const before = stored.active ?? DEFAULT_PROFILE;
  const isFirst = stored.profiles.size === 0 && stored.active === undefined;
  if (before === profile) return;
  if (!isFirst && reason === undefined)
    return notice(`to use this profile without --profile, run: fleet profile use ${profile}`);
  await useProfile(stored, profile);
  await notice(
    `✓ now using profile "${profile}"${isFirst ? '' : `; to switch back, run: fleet profile use ${before}`}`,
  );
}

async function reportEnd(
  { clock, zone, notice }: Context,
  { token, login }: StoredToken,
): Promise<void> {
  const expiry = readExpiry(token);
  if (expiry === undefined) return;
  const now = clock.wallMs();
  const when = `${showElapsed(now - expiry)} (${showLocalTime(expiry, zone)})`;
  if (expiry <= now)
    return notice(`warning: this token expired ${when}; the service will refuse it`);
  if (isRenewable(login))
    return notice(`the token expires ${when}; fleet commands renew it before it expires`);
  const end =
    login === undefined ? '' : '; the service does not renew it, so log in again after that';
  await notice(`the token expires ${when}${end}`);
}

/** Warns when another setting overrides the saved token or URLs. */
async function warn({ io, flags, notice }: Context, profile: string, token: string): Promise<void> {
  const saved = await loadStored(io.env);
  const settings = resolveSettings({ flags: { ...flags, profile }, env: io.env, stored: saved });
  const place = await findTokenPlace(io.env, saved, settings);
  if (place !== undefined && place.kind !== 'stored')
    await notice(`warning: ${place.origin} overrides the stored token as long as it is set`);
  const set = (key: string, value: string) =>
    `run "fleet config set ${key} ${value}${profileFlag(profile)}"`;
  if (settings.baseUrl.value === undefined)
    await notice(`no address yet: ${set('base_url', 'URL')}`);
  const several = organizationsOf(token).length;
  if (settings.organization.value === undefined && several > 1)
    await notice(
      `the token names ${several} organizations and none is chosen: ${set('organization', 'NAME')}; "fleet organizations list" shows them`,
    );
}
