// `fleet auth login`: takes an access token, or an e-mail address and a password for one, checks it, and stores it with the addresses that came along.

import { LOGIN_PATH, postForToken, refreshPathOf } from '../../api/login.js';
import { ANONYMOUS, type Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import { withHint } from '../../http/failure.js';
import { KEYS } from '../../settings/keys.js';
import {
  chooseProfile,
  profileFlag,
  refusePlainHttp,
  requireBaseUrl,
  resolveSettings,
  type Settings,
} from '../../settings/resolve.js';
import {
  DEFAULT_PROFILE,
  type Login,
  loadStored,
  type Stored,
  saveProfile,
  saveToken,
  useProfile,
} from '../../settings/store.js';
import { organizationsOf, parseToken, readExpiry } from '../../settings/token.js';
import { findTokenPlace } from '../../settings/token-place.js';
import { canAsk } from '../../terminal/prompt.js';
import { readStdin } from '../../terminal/stdin.js';
import { age } from '../../terminal/time.js';
import { checkLogin, limitsOfLogin, withPrefixHint } from './check.js';
import { askOrganization, askPassword, askSetting, askToken } from './questions.js';
import { type Chosen, chooseNamed, chooseTarget, type LoginTarget } from './target.js';

export interface LoginOptions {
  withToken?: boolean;
  email?: string;
  passwordStdin?: boolean;
  loginPath?: string;
  /** False after `--no-check`. */
  check?: boolean;
}

/** A token is a few hundred bytes; whoever pipes more than this pipes something else. */
const STDIN_LIMIT_BYTES = 65_536;

/** What a login saves beside the token. */
const FIELDS = [
  { key: 'base_url', setting: 'baseUrl' },
  { key: 'sse_url', setting: 'sseUrl' },
  { key: 'organization', setting: 'organization' },
] as const;

type Values = { [Key in (typeof FIELDS)[number]['key']]?: string | undefined };

/** A token and, where it was had for a password, how it is renewed. */
interface Obtained {
  token: string;
  login?: Login;
}

export async function login(context: Context, options: LoginOptions): Promise<void> {
  const { io, flags, notice } = context;
  checkFlags(options);
  const stored = await loadStored(io.env);
  if (stored.problem !== undefined) throw stored.problem;
  const settings = resolveSettings(flags, io.env, stored, chooseProfile(flags, io.env, stored, { mayBeNew: true }));
  const chosen = chooseNamed(stored, settings.profile);
  const values = knownValues(settings, chosen);
  const asks = canAsk(context) && options.withToken !== true && options.passwordStdin !== true;
  const isNewPlace = asks && values.base_url === undefined;
  const ask = (key: 'base_url' | 'sse_url', message: string) =>
    askSetting(context, {
      key,
      message,
      check: (url) => refusePlainHttp(new URL(url), message, stored, chosen.profile),
    });

  if (isNewPlace) {
    await notice(
      chosen.isSandbox
        ? `"${chosen.profile}" belongs to "fleet sandbox": this login gets a profile named after its address`
        : `logging in: profile "${chosen.profile}"`,
    );
    values.base_url = await ask('base_url', 'Address of the service');
  } else if (values.base_url === undefined && chosen.isSandbox) {
    throw usageError(
      `the profile in use, "${chosen.profile}", belongs to "fleet sandbox"`,
      'give the address of the service: fleet auth login --base-url URL',
    );
  }
  const target = chooseTarget(stored, chosen, values.base_url === undefined ? undefined : new URL(values.base_url));
  const toSave = () => valuesToSave(stored, settings, values, target);
  const proposed = () => proposedSettings(context, stored, target.profile, toSave());
  const where = `profile "${target.profile}"${values.base_url === undefined ? '' : ` at ${values.base_url}`}`;
  await announce(context, target, where);
  const obtained = await obtain(context, options, proposed(), where);

  if (options.check !== false && !(await checkLogin(context, proposed(), obtained.token)))
    return notice('nothing was saved');
  if (isNewPlace) values.sse_url ??= await ask('sse_url', 'Push address');
  if (asks && values.organization === undefined && (isNewPlace || !stored.profiles.has(target.profile)))
    values.organization = await askOrganization(context, proposed(), obtained.token, {
      maySend: options.check !== false,
      isNewPlace,
    });
  await save(context, { stored, target, values: toSave(), ...obtained });
}

function checkFlags({ withToken, email, passwordStdin, loginPath }: LoginOptions): void {
  if (withToken === true && email !== undefined)
    throw usageError('--with-token and --email cannot be used together', 'a token needs no e-mail address');
  if (email === undefined && (passwordStdin === true || loginPath !== undefined))
    throw usageError(
      `${passwordStdin === true ? '--password-stdin' : '--login-path'} needs --email`,
      'fleet auth login --email you@example.org',
    );
}

/** What flags, environment and profile say; what the sandbox's profile holds is of no use elsewhere. */
function knownValues(settings: Settings, chosen: Chosen): Values {
  const values: Values = {};
  for (const { key, setting } of FIELDS) {
    const { shown, origin } = settings[setting];
    if (shown !== null && !(chosen.isSandbox && origin === 'profile')) values[key] = shown;
  }
  return values;
}

async function announce({ notice }: Context, { reason, replaced }: LoginTarget, where: string): Promise<void> {
  await notice(`logging in: ${where}`);
  if (reason !== undefined) await notice(`this is not the profile in use, because ${reason}`);
  if (replaced !== undefined) await notice(`this replaces the address ${KEYS.base_url.show(replaced)}`);
}

/** The token: piped, typed, or had for a password. */
async function obtain(context: Context, options: LoginOptions, settings: Settings, where: string): Promise<Obtained> {
  const { email, loginPath = LOGIN_PATH, passwordStdin, withToken } = options;
  if (email === undefined) {
    const typed = withToken === true ? await pipe(context, '--with-token', 'token') : await askToken(context, where);
    const parsed = parseToken(typed);
    if ('reason' in parsed) throw usageError(`the token ${parsed.reason}`, 'give the token alone, on one line');
    context.io.secrets.add(parsed.value);
    if (parsed.leftOut !== undefined) await context.notice(`ignored the word "${parsed.leftOut}" before the token`);
    return { token: parsed.value };
  }
  requireBaseUrl(settings);
  const password =
    passwordStdin === true
      ? (await pipe(context, '--password-stdin', 'password')).replace(/\r?\n$/, '')
      : await askPassword(context, email, where);
  if (password === '') throw usageError('the password is empty', 'give it on one line');
  context.io.secrets.add(password, true);
  const client = await context.client({ ...limitsOfLogin(settings), settings, token: ANONYMOUS });
  const answer = await postForToken(client, loginPath, { email, password }).catch(async (thrown) => {
    const hinted = await withPrefixHint(context, settings, thrown);
    if (hinted !== thrown || !(thrown instanceof FleetError) || thrown.kind !== 'not-found') throw hinted;
    throw withHint(thrown, 'this service has no login there: give --login-path, or a token with "fleet auth login"');
  });
  const parsed = parseToken(answer ?? '');
  if ('reason' in parsed)
    throw new FleetError('service', `the service answered the login at ${loginPath} without a token`, {
      hint: 'another address for it is given with --login-path; a token by hand with: fleet auth login',
    });
  context.io.secrets.add(parsed.value);
  await context.notice(`✓ logged in as ${email}`);
  return {
    token: parsed.value,
    login: { email, refreshPath: refreshPathOf(loginPath), sinceMs: context.clock.wallMs() },
  };
}

async function pipe(context: Context, flag: string, what: string): Promise<string> {
  // Typed there it would be shown on the screen.
  if (context.io.stdin.isTTY === true)
    throw usageError(
      `${flag} reads the ${what} from a pipe or a file`,
      `leave ${flag} out to be asked, or add: < FILE`,
    );
  const options = { limitBytes: STDIN_LIMIT_BYTES, tooMuch: `stdin holds more than a ${what}` };
  return (await readStdin(context, options)).toString('utf8');
}

/**
 * What changes in the profile: what came by flag or as an answer; all that is known where the profile is another one than that in
 * use. `undefined` takes out what belonged to the service that was there before.
 */
function valuesToSave(stored: Stored, settings: Settings, known: Values, { profile, replaced }: LoginTarget): Values {
  const held = stored.profiles.get(profile);
  const isElsewhere = profile !== settings.profile.value || replaced !== undefined;
  const values: Values = {};
  for (const { key, setting } of FIELDS) {
    const value = known[key];
    const { shown, origin } = settings[setting];
    const isNeeded = isElsewhere && (key === 'base_url' || origin === 'environment');
    if (value !== undefined && (origin === 'flag' || value !== shown || isNeeded)) values[key] = value;
    else if (replaced !== undefined && key !== 'base_url' && held?.[key] !== undefined) values[key] = undefined;
  }
  return values;
}

/** The settings as they would be. */
function proposedSettings({ io, flags }: Context, stored: Stored, profile: string, values: Values): Settings {
  const proposed = { ...stored.profiles.get(profile), ...values };
  const profiles = new Map(stored.profiles).set(profile, proposed);
  // The address that was answered wins over the one of the environment.
  const answered = values.base_url === undefined ? flags : { ...flags, baseUrl: values.base_url };
  return resolveSettings({ ...answered, profile }, io.env, { ...stored, profiles });
}

async function save(
  context: Context,
  { stored, target, values, token, login }: { stored: Stored; target: LoginTarget; values: Values } & Obtained,
): Promise<void> {
  const { io, flags, notice } = context;
  const { profile } = target;
  await saveProfile(stored, profile, values);
  await saveToken(stored, profile, token, login);
  for (const [key, value] of Object.entries(values))
    await notice(
      value === undefined ? `✓ removed ${key}, which belonged to the other service` : `✓ saved ${key} ${value}`,
    );
  const mode = process.platform === 'win32' ? '' : ' (mode 0600)';
  await notice(`✓ stored the token for profile "${profile}" in ${stored.credentialsPath}${mode}`);
  await enterProfile(context, stored, target);
  await reportEnd(context, token, login !== undefined);

  const saved = await loadStored(io.env);
  const settings = resolveSettings({ ...flags, profile }, io.env, saved);
  const place = await findTokenPlace(io.env, saved, settings);
  if (place !== undefined && place.kind !== 'stored')
    await notice(`warning: ${place.origin} overrides the stored token, which is not used as long as that is set`);
  if (settings.baseUrl.value === undefined)
    await notice(`no address yet: run "fleet config set base_url URL${profileFlag(profile)}"`);
  const several = organizationsOf(token).length;
  if (settings.organization.value === undefined && several > 1)
    await notice(
      `the token names ${several} organizations and none is chosen: run "fleet config set organization NAME${profileFlag(profile)}"; "fleet organizations list" shows them`,
    );
}

/** The first profile of all, and one that the login chose by itself, are used from now on. */
async function enterProfile({ notice }: Context, stored: Stored, { profile, reason }: LoginTarget): Promise<void> {
  const before = stored.active ?? DEFAULT_PROFILE;
  if (before === profile) return;
  const isFirst = stored.profiles.size === 0 && stored.active === undefined;
  if (!isFirst && reason === undefined) return notice(`to use it without --profile: fleet profile use ${profile}`);
  await useProfile(stored, profile);
  await notice(`✓ now using profile "${profile}"${isFirst ? '' : `; back to the other: fleet profile use ${before}`}`);
}

async function reportEnd({ clock, notice }: Context, token: string, isRenewed: boolean): Promise<void> {
  const expiry = readExpiry(token);
  if (expiry === undefined) return;
  const iso = new Date(expiry).toISOString();
  const now = clock.wallMs();
  if (expiry <= now) await notice(`warning: this token expired ${age(iso, now)} (${iso}); the service will refuse it`);
  else
    await notice(
      `it expires ${age(iso, now)} (${iso})${isRenewed ? '; every command that runs before then renews it' : ''}`,
    );
}
