// `fleet auth login`: asks for or reads an access token, checks it, and stores it with the addresses that came along.

import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { KEYS } from '../../settings/keys.js';
import { chooseProfile, profileFlag, refusePlainHttp, resolveSettings, type Settings } from '../../settings/resolve.js';
import { DEFAULT_PROFILE, loadStored, type Stored, saveProfile, saveToken, useProfile } from '../../settings/store.js';
import { parseToken, readExpiry } from '../../settings/token.js';
import { findTokenPlace } from '../../settings/token-place.js';
import { canAsk } from '../../terminal/prompt.js';
import { readStdin } from '../../terminal/stdin.js';
import { age } from '../../terminal/time.js';
import { checkLogin } from './check.js';
import { askSetting, askToken } from './questions.js';
import { type Chosen, chooseNamed, chooseTarget, type Target } from './target.js';

export interface LoginOptions {
  withToken?: boolean;
  /** False after `--no-check`. */
  check?: boolean;
}

/** A token is a few hundred bytes; whoever pipes more than this pipes something else. */
const STDIN_LIMIT_BYTES = 65_536;

/** What is asked for besides the token, in this order. */
const FIELDS = [
  { key: 'base_url', setting: 'baseUrl', message: 'Address of the service', isNeeded: true },
  { key: 'sse_url', setting: 'sseUrl', message: 'Push address', isNeeded: false },
  { key: 'organization', setting: 'organization', message: 'UUID of the organization', isNeeded: false },
] as const;

type Field = (typeof FIELDS)[number];
type Values = { [Key in Field['key']]?: string | undefined };

/** What is known of the login so far; kept while the operator tries again. */
interface Answers {
  /** As config.json has them. */
  values: Values;
  token: string | undefined;
  /** Whether all of it was asked for, so that all of it is saved. */
  isConfirmed: boolean;
}

/** What the login stands on. */
interface Ground {
  stored: Stored;
  chosen: Chosen;
  /** Of flags, environment and the profile in use. */
  settings: Settings;
}

export async function login(context: Context, options: LoginOptions): Promise<void> {
  const { io, flags, notice } = context;
  const stored = await loadStored(io.env);
  if (stored.problem !== undefined) throw stored.problem;
  const settings = resolveSettings(flags, io.env, stored, chooseProfile(flags, io.env, stored, { mayBeNew: true }));
  const chosen = chooseNamed(stored, settings.profile);
  const ground = { stored, chosen, settings };

  let answers: Answers = { values: knownValues(ground), token: undefined, isConfirmed: false };
  if (answers.values.base_url === undefined && chosen.isSandbox && (options.withToken === true || !canAsk(context))) {
    throw usageError(
      `the profile in use, "${chosen.profile}", belongs to "fleet sandbox"`,
      'give the address of the service: fleet auth login --base-url URL',
    );
  }
  let isAskedAgain = false;
  for (;;) {
    answers = await complete(context, options, ground, answers, isAskedAgain);
    const target = targetOf(ground, answers);
    const values = valuesToSave(ground, answers, target);
    const token = answers.token ?? '';
    if (options.check !== false) {
      const outcome = await checkLogin(context, proposedSettings(context, stored, target.profile, values), token);
      if (outcome.next === 'stop') return notice('nothing was saved');
      if (outcome.next === 'prefix') answers.values.base_url = outcome.address;
      if (outcome.next !== 'save') {
        isAskedAgain = outcome.next === 'ask-again';
        continue;
      }
    }
    return save(context, { stored, target, values, token });
  }
}

/** What flags, environment and profile say; what the sandbox's profile holds is of no use elsewhere. */
function knownValues({ settings, chosen }: Ground): Values {
  const values: Values = {};
  for (const { key, setting } of FIELDS) {
    const { shown, origin } = settings[setting];
    if (shown !== null && !(chosen.isSandbox && origin === 'profile')) values[key] = shown;
  }
  return values;
}

function targetOf({ stored, chosen }: Ground, { values }: Answers): Target {
  return chooseTarget(stored, chosen, values.base_url === undefined ? undefined : new URL(values.base_url));
}

/** The answers with what is missing asked for or read; everything is asked again when the operator wants to. */
async function complete(
  context: Context,
  { withToken }: LoginOptions,
  ground: Ground,
  before: Answers,
  isAskedAgain: boolean,
): Promise<Answers> {
  const { notice } = context;
  const { stored, chosen } = ground;
  const answers: Answers = { ...before, values: { ...before.values }, isConfirmed: isAskedAgain };
  const { values } = answers;
  const needsToken = before.token === undefined || isAskedAgain;
  const asksForPlace = isAskedAgain || (values.base_url === undefined && withToken !== true && canAsk(context));
  const ask = async ({ key, message, isNeeded }: Field) => {
    const check = (value: string) => {
      if (key !== 'organization') refusePlainHttp(new URL(value), message, stored, chosen.profile);
    };
    values[key] = await askSetting(context, { key, message, before: values[key], isNeeded, check });
  };
  const [address, ...others] = FIELDS;
  if (asksForPlace && !isAskedAgain) {
    await notice(
      chosen.isSandbox
        ? `"${chosen.profile}" belongs to "fleet sandbox": this login gets a profile named after its address`
        : `logging in: profile "${chosen.profile}"`,
    );
  }
  if (asksForPlace) await ask(address);
  const target = targetOf(ground, answers);
  const where = `profile "${target.profile}"${values.base_url === undefined ? '' : ` at ${values.base_url}`}`;
  if (needsToken) await announce(context, target, where);
  if (asksForPlace) for (const field of others) if (values[field.key] === undefined || isAskedAgain) await ask(field);
  if (needsToken) {
    const typed = withToken === true ? await pipeToken(context) : await askToken(context, where, before.token);
    answers.token = await readToken(context, typed);
  }
  return answers;
}

async function announce({ notice }: Context, { reason, replaced }: Target, where: string): Promise<void> {
  await notice(`logging in: ${where}`);
  if (reason !== undefined) await notice(`this is not the profile in use, because ${reason}`);
  if (replaced !== undefined) await notice(`this replaces the address ${KEYS.base_url.show(replaced)}`);
}

async function readToken({ io, notice }: Context, text: string): Promise<string> {
  const parsed = parseToken(text);
  if ('reason' in parsed) throw usageError(`the token ${parsed.reason}`, 'give the token alone, on one line');
  io.secrets.add(parsed.value);
  if (parsed.leftOut !== undefined) await notice(`ignored the word "${parsed.leftOut}" before the token`);
  return parsed.value;
}

async function pipeToken(context: Context): Promise<string> {
  // Typed there it would be shown on the screen.
  if (context.io.stdin.isTTY === true)
    throw usageError(
      '--with-token reads the token from a pipe or a file',
      'leave --with-token out to be asked, or: fleet auth login --with-token < FILE',
    );
  const options = { limitBytes: STDIN_LIMIT_BYTES, tooMuch: 'stdin holds more than a token' };
  return (await readStdin(context, options)).toString('utf8');
}

/**
 * What changes in the profile: what came by flag or as an answer; all that is known where the profile is another one than that in
 * use. `undefined` takes out what belonged to the service that was there before.
 */
function valuesToSave({ stored, settings }: Ground, answers: Answers, { profile, replaced }: Target): Values {
  const held = stored.profiles.get(profile);
  const isElsewhere = profile !== settings.profile.value || replaced !== undefined;
  const values: Values = {};
  for (const { key, setting } of FIELDS) {
    const value = answers.values[key];
    const { shown, origin } = settings[setting];
    const isMeant = answers.isConfirmed || origin === 'flag' || value !== shown;
    const isNeeded = isElsewhere && (key === 'base_url' || origin === 'environment');
    if (value !== undefined && (isMeant || isNeeded)) values[key] = value;
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
  { stored, target, values, token }: { stored: Stored; target: Target; values: Values; token: string },
): Promise<void> {
  const { io, flags, notice } = context;
  const { profile } = target;
  await saveProfile(stored, profile, values);
  await saveToken(stored, profile, token);
  for (const [key, value] of Object.entries(values))
    await notice(
      value === undefined ? `✓ removed ${key}, which belonged to the other service` : `✓ saved ${key} ${value}`,
    );
  await notice(`✓ stored the token for profile "${profile}" in ${stored.credentialsPath} (mode 0600)`);
  await enterProfile(context, stored, target);
  await warnOfExpiry(context, token);

  const saved = await loadStored(io.env);
  const settings = resolveSettings({ ...flags, profile }, io.env, saved);
  const place = await findTokenPlace(io.env, saved, settings);
  if (place !== undefined && place.kind !== 'stored')
    await notice(`warning: ${place.origin} overrides the stored token, which is not used as long as that is set`);
  if (settings.baseUrl.value === undefined)
    await notice(`no address yet: run "fleet config set base_url URL${profileFlag(profile)}"`);
}

/** The first profile of all, and one that the login chose by itself, are used from now on. */
async function enterProfile({ notice }: Context, stored: Stored, { profile, reason }: Target): Promise<void> {
  const before = stored.active ?? DEFAULT_PROFILE;
  if (before === profile) return;
  const isFirst = stored.profiles.size === 0 && stored.active === undefined;
  if (!isFirst && reason === undefined) return notice(`to use it without --profile: fleet profile use ${profile}`);
  await useProfile(stored, profile);
  await notice(`✓ now using profile "${profile}"${isFirst ? '' : `; back to the other: fleet profile use ${before}`}`);
}

async function warnOfExpiry({ clock, notice }: Context, token: string): Promise<void> {
  const expiry = readExpiry(token);
  if (expiry === undefined) return;
  const iso = new Date(expiry).toISOString();
  const now = clock.wallMs();
  if (expiry <= now) await notice(`warning: this token expired ${age(iso, now)} (${iso}); the service will refuse it`);
  else await notice(`it expires ${age(iso, now)} (${iso})`);
}
