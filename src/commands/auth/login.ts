// `fleet auth login`: asks for or reads an access token, checks it, and stores it with the addresses that came along.

import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { KEYS } from '../../settings/keys.js';
import { profileFlag, refusePlainHttp, resolveSettings, type Settings } from '../../settings/resolve.js';
import {
  DEFAULT_PROFILE,
  loadStored,
  type ProfileValues,
  type Stored,
  saveProfile,
  saveToken,
  useProfile,
} from '../../settings/store.js';
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

/** What is known of the login so far; kept while the operator tries again. */
interface Answers {
  address: URL | undefined;
  pushAddress: URL | undefined;
  organization: string | undefined;
  token: string | undefined;
  /** Whether all of it was asked for, so that all of it is saved. */
  isConfirmed: boolean;
}

export async function login(context: Context, options: LoginOptions): Promise<void> {
  const { io, flags, notice } = context;
  const stored = await loadStored(io.env);
  if (stored.problem !== undefined) throw stored.problem;
  const settings = resolveSettings(flags, io.env, stored, { mayBeNew: true });
  const chosen = chooseNamed(stored, settings.profile);

  const isAsked = options.withToken !== true && canAsk(context);
  let answers = knownAnswers(settings, chosen.isSandbox);
  if (answers.address === undefined && chosen.isSandbox && !isAsked) {
    throw usageError(
      `the profile in use, "${chosen.profile}", belongs to "fleet sandbox"`,
      'give the address of the service: fleet auth login --base-url URL',
    );
  }
  let isAskedAgain = false;
  for (;;) {
    answers = await complete(context, options, { stored, chosen, answers, isAskedAgain, settings });
    const target = chooseTarget(stored, chosen, answers.address);
    const values = valuesToSave(answers, settings, stored, target);
    const token = answers.token ?? '';
    if (options.check !== false) {
      const outcome = await checkLogin(context, proposedSettings(context, stored, target.profile, values), token);
      if (outcome.next === 'stop') return notice('nothing was saved');
      if (outcome.next === 'prefix') answers = { ...answers, address: outcome.address };
      if (outcome.next !== 'save') {
        isAskedAgain = outcome.next === 'ask-again';
        continue;
      }
    }
    return save(context, { stored, target, values, token });
  }
}

/** What flags, environment and profile say; what the sandbox's profile holds is of no use elsewhere. */
function knownAnswers({ baseUrl, sseUrl, organization }: Settings, isSandbox: boolean): Answers {
  const known = <T>(setting: { value: T | undefined; origin: string }): T | undefined =>
    isSandbox && setting.origin === 'profile' ? undefined : setting.value;
  return {
    address: known(baseUrl),
    pushAddress: known(sseUrl),
    organization: known(organization),
    token: undefined,
    isConfirmed: false,
  };
}

/** The answers with what is missing asked for or read; everything is asked again when the operator wants to. */
async function complete(
  context: Context,
  { withToken }: LoginOptions,
  now: { stored: Stored; chosen: Chosen; answers: Answers; isAskedAgain: boolean; settings: Settings },
): Promise<Answers> {
  const { stored, chosen, isAskedAgain, settings } = now;
  const checkAt = (message: string) => ({
    message,
    check: (url: URL) => refusePlainHttp(url, message, settings.allowHttp.value, ''),
  });
  let { address, pushAddress, organization, token } = now.answers;
  const asksForPlace = isAskedAgain || (address === undefined && withToken !== true && canAsk(context));
  if (asksForPlace) {
    const { notice } = context;
    if (!isAskedAgain) {
      await notice(
        chosen.isSandbox
          ? `"${chosen.profile}" belongs to "fleet sandbox": this login gets a profile named after its address`
          : `logging in: profile "${chosen.profile}"`,
      );
    }
    const base = { key: KEYS.base_url, ...checkAt('Address of the service'), before: address, isNeeded: true };
    address = await askSetting(context, base);
  }
  const target = chooseTarget(stored, chosen, address);
  const where = `profile "${target.profile}"${address === undefined ? '' : ` at ${KEYS.base_url.show(address)}`}`;
  if (token === undefined || isAskedAgain) await announce(context, target, where);
  if (asksForPlace) {
    if (pushAddress === undefined || isAskedAgain) {
      const push = { key: KEYS.sse_url, ...checkAt('Push address'), before: pushAddress };
      pushAddress = await askSetting(context, push);
    }
    if (organization === undefined || isAskedAgain) {
      const question = { key: KEYS.organization, message: 'UUID of the organization', before: organization };
      organization = await askSetting(context, question);
    }
  }
  if (token === undefined || isAskedAgain)
    token = await readToken(
      context,
      withToken === true ? await pipeToken(context) : await askToken(context, where, token),
    );
  return { address, pushAddress, organization, token, isConfirmed: isAskedAgain };
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

type NewValues = { readonly [Key in keyof ProfileValues]: ProfileValues[Key] | undefined };

/**
 * What changes in the profile: what came by flag or as an answer; all that is known where the profile is another one than that in
 * use. `undefined` takes out what belonged to the service that was there before.
 */
function valuesToSave(answers: Answers, settings: Settings, stored: Stored, target: Target): NewValues {
  const held = stored.profiles.get(target.profile);
  const isElsewhere = target.profile !== settings.profile.value || target.replaced !== undefined;
  const keep = <T>(value: T | undefined, setting: { value: T | undefined; origin: string }): boolean =>
    value !== undefined &&
    (answers.isConfirmed ||
      setting.origin === 'flag' ||
      value !== setting.value ||
      (isElsewhere && setting.origin === 'environment'));
  const values: { -readonly [Key in keyof NewValues]: NewValues[Key] } = {};
  const { address, pushAddress, organization } = answers;
  if (address !== undefined && (keep(address, settings.baseUrl) || isElsewhere))
    values.base_url = KEYS.base_url.show(address);
  if (pushAddress !== undefined && keep(pushAddress, settings.sseUrl)) values.sse_url = KEYS.sse_url.show(pushAddress);
  if (organization !== undefined && keep(organization, settings.organization)) values.organization = organization;
  if (target.replaced !== undefined)
    for (const key of ['sse_url', 'organization'] as const)
      if (values[key] === undefined && held?.[key] !== undefined) values[key] = undefined;
  return values;
}

/** The settings as they would be. */
function proposedSettings({ io, flags }: Context, stored: Stored, profile: string, values: NewValues): Settings {
  const proposed = { ...stored.profiles.get(profile), ...values };
  const profiles = new Map(stored.profiles).set(profile, proposed);
  // The address that was answered wins over the one of the environment.
  const answered = values.base_url === undefined ? flags : { ...flags, baseUrl: values.base_url };
  return resolveSettings({ ...answered, profile }, io.env, { ...stored, profiles });
}

async function save(
  context: Context,
  { stored, target, values, token }: { stored: Stored; target: Target; values: NewValues; token: string },
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
  const { baseUrl, tokenCommand } = resolveSettings({ ...flags, profile }, io.env, saved);
  const place = await findTokenPlace(io.env, saved, profile, tokenCommand.value);
  if (place !== undefined && place.kind !== 'stored')
    await notice(`warning: ${place.origin} overrides the stored token, which is not used as long as that is set`);
  if (baseUrl.value === undefined)
    await notice(`no address yet: run "fleet config set base_url URL${profileFlag(profile)}"`);
}

/** The first profile of all, and one that the login chose by itself, are used from now on. */
async function enterProfile({ notice }: Context, stored: Stored, { profile, reason }: Target): Promise<void> {
  const before = stored.active ?? DEFAULT_PROFILE;
  if (before === profile) return;
  const isFirst = stored.profiles.size === 0 && stored.active === undefined;
  if (!isFirst && reason === undefined) return notice(`to use it without --profile: fleet profile use ${profile}`);
  await useProfile(stored, profile);
  await notice(`✓ Now using profile "${profile}"${isFirst ? '' : `; back to the other: fleet profile use ${before}`}`);
}

async function warnOfExpiry({ clock, notice }: Context, token: string): Promise<void> {
  const expiry = readExpiry(token);
  if (expiry === undefined) return;
  const iso = new Date(expiry).toISOString();
  const now = clock.wallMs();
  if (expiry <= now) await notice(`warning: this token expired ${age(iso, now)} (${iso}); the service will refuse it`);
  else await notice(`it expires ${age(iso, now)} (${iso})`);
}
