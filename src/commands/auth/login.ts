// `fleet auth login`: asks for or reads an access token, and stores it with the addresses that came along.

import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { KEYS, type Key } from '../../settings/keys.js';
import { chooseProfile, profileFlag, refusePlainHttp, resolveSettings } from '../../settings/resolve.js';
import {
  loadStored,
  type ProfileValues,
  type Stored,
  saveProfile,
  saveToken,
  useProfile,
} from '../../settings/store.js';
import { findTokenPlace, parseToken, readExpiry } from '../../settings/token.js';
import { askSecret, askText, canAsk } from '../../terminal/prompt.js';
import { readStdin } from '../../terminal/stdin.js';
import { age } from '../../terminal/time.js';
import { checkLogin } from './check.js';

export interface LoginOptions {
  withToken?: boolean;
  /** Undefined: where the operator is asked, and not with `--with-token`, so that a script needs no network to log in. */
  check?: boolean;
}

/** A token is a few hundred bytes; whoever pipes more than this pipes something else. */
const STDIN_LIMIT_BYTES = 65_536;

const INSTEAD = 'give the token on stdin: fleet auth login --with-token < FILE';

export async function login(context: Context, options: LoginOptions): Promise<void> {
  const { io, flags, notice } = context;
  const stored = await loadStored(io.env);
  const profile = chooseProfile(flags, io.env, stored, { mayBeNew: true }).value;
  const values = await findAddresses(context, options, stored, profile);
  const token = await obtainToken(context, options);
  if (options.check ?? options.withToken !== true) {
    const proposed = {
      ...stored,
      profiles: new Map(stored.profiles).set(profile, { ...stored.profiles.get(profile), ...values }),
    };
    if (!(await checkLogin(context, resolveSettings(flags, io.env, proposed), token)))
      return notice('nothing was saved');
  }

  await saveProfile(stored, profile, values);
  await saveToken(stored, profile, token);
  for (const [key, value] of Object.entries(values)) await notice(`saved ${key} ${value}`);
  await notice(`stored the token for profile "${profile}" in ${stored.credentialsPath} (mode 0600)`);
  await enterFirstProfile(context, stored, profile);
  await warnOfExpiry(context, token);

  const saved = await loadStored(io.env);
  const { baseUrl, tokenCommand } = resolveSettings(flags, io.env, saved);
  const place = await findTokenPlace(io.env, saved, profile, tokenCommand.value);
  if (place !== undefined && place.kind !== 'stored')
    await notice(`warning: ${place.origin} comes first: the stored token is not used as long as that is set`);
  if (baseUrl.value === undefined)
    await notice(`still without an address: run "fleet config set base_url URL${profileFlag(profile)}"`);
}

/** The addresses to save: those given by flag, and in an empty profile those the operator is asked for. */
async function findAddresses(
  context: Context,
  options: LoginOptions,
  stored: Stored,
  profile: string,
): Promise<ProfileValues> {
  const { io, flags } = context;
  const { baseUrl, sseUrl, allowHttp, organization } = resolveSettings(flags, io.env, stored, { mayBeNew: true });
  const values: ProfileValues = {};
  if (baseUrl.origin === 'flag' && baseUrl.value !== undefined) values.base_url = KEYS.base_url.show(baseUrl.value);
  if (sseUrl.origin === 'flag' && sseUrl.value !== undefined) values.sse_url = KEYS.sse_url.show(sseUrl.value);
  if (baseUrl.value !== undefined || options.withToken === true || !canAsk(context)) return values;

  const askAddress = async (key: Key<URL>, message: string, suggestion?: string): Promise<string | undefined> => {
    const answer = await askText(context, {
      message,
      instead: INSTEAD,
      ...(suggestion === undefined ? {} : { suggestion }),
      refuse(typed) {
        if (typed.trim() === '') return key.name === 'base_url' ? 'an address is needed' : undefined;
        const parsed = key.parse(typed);
        if ('reason' in parsed) return parsed.hint === undefined ? parsed.reason : `${parsed.reason}; ${parsed.hint}`;
        return refusalOf(() => refusePlainHttp(parsed.value, message, allowHttp.value, profile));
      },
    });
    const parsed = key.parse(answer);
    return 'value' in parsed ? key.show(parsed.value) : undefined;
  };
  const base = await askAddress(KEYS.base_url, 'Address of the service');
  if (base !== undefined) values.base_url = base;
  if (sseUrl.value === undefined) {
    const push = await askAddress(KEYS.sse_url, 'Push address (Enter to leave it open)');
    if (push !== undefined) values.sse_url = push;
  }
  if (organization.value === undefined) {
    const { parse } = KEYS.organization;
    const answer = await askText(context, {
      message: 'UUID of the organization (Enter to leave it open)',
      instead: INSTEAD,
      refuse(typed) {
        const parsed = parse(typed);
        return typed.trim() === '' || 'value' in parsed ? undefined : parsed.reason;
      },
    });
    const parsed = parse(answer);
    if ('value' in parsed) values.organization = parsed.value;
  }
  return values;
}

function refusalOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function obtainToken(context: Context, options: LoginOptions): Promise<string> {
  const text =
    options.withToken === true
      ? await pipeToken(context)
      : await askSecret(context, {
          message: 'Access token',
          instead: INSTEAD,
          refuse(typed) {
            const parsed = parseToken(typed);
            return 'reason' in parsed ? `the token ${parsed.reason}` : undefined;
          },
        });
  const parsed = parseToken(text);
  if ('reason' in parsed) throw usageError(`the token ${parsed.reason}`, 'give the token alone, on one line');
  if (parsed.leftOut !== undefined) await context.notice(`left out the word "${parsed.leftOut}" in front of the token`);
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

/** In an empty house the first profile is the one that is meant from now on. */
async function enterFirstProfile({ notice }: Context, stored: Stored, profile: string): Promise<void> {
  if (stored.active === profile || (stored.active === undefined && profile === 'default')) return;
  if (stored.profiles.size === 0 && stored.active === undefined) {
    await useProfile(stored, profile);
    await notice(`profile "${profile}" is now the one in use`);
  } else {
    await notice(`to use it without --profile: fleet profile use ${profile}`);
  }
}

async function warnOfExpiry({ clock, notice }: Context, token: string): Promise<void> {
  const expiry = readExpiry(token);
  if (expiry === undefined) return;
  const iso = new Date(expiry).toISOString();
  const now = clock.wallMs();
  if (expiry <= now) await notice(`warning: this token expired ${age(iso, now)} (${iso}); the service will refuse it`);
  else await notice(`it expires ${age(iso, now)} (${iso})`);
}
