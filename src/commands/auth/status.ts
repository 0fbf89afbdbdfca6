// `fleet auth status`, `token` and `logout`: show or remove the current token. The only request
// that they send is the renewal of the token.

import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { isObject } from '../../json/parse.js';
import { printReport } from '../../list/change-report.js';
import { isScreen, writeResult, writeSecret } from '../../list/output-file.js';
import { resolveSettings, type Settings } from '../../settings/resolve.js';
import { deleteToken, isRenewable, loadStored } from '../../settings/store.js';
import { readClaims, readExpiry } from '../../settings/token.js';
import { findTokenPlace, type TokenPlace } from '../../settings/token-place.js';
import { showLocalTime, type TimeZone } from '../../system/time-zone.js';
import { chooseFormat, REPORT_FORMATS, type Shape } from '../../terminal/formats.js';
import { drawList } from '../../terminal/list.js';
import { age } from '../../terminal/time.js';

/** `fleet auth token`: prints the access token, for other programs. */
export async function printToken(context: Context): Promise<void> {
  const source = await context.token();
  await writeSecret(context, `${await source.get()}\n`);
}

/** `fleet auth logout`: removes a profile's stored token. */
export async function logout({ io, flags, notice }: Context): Promise<void> {
  const stored = await loadStored(io.env);
  const settings = resolveSettings({ flags, env: io.env, stored });
  const profile = settings.profile.value;
  const removed = await deleteToken(stored, profile);
  await notice(
    removed
      ? `✓ removed the stored token of profile "${profile}" from ${stored.credentialsPath}`
      : `profile "${profile}" has no stored token`,
  );
  const place = await findTokenPlace(io.env, stored, settings);
  if (place !== undefined) await notice(`fleet still uses the token from: ${place.origin}`);
}

/**
 * `fleet auth status`: prints the profile, URL, token source, expiry and claims, but never the
 * token.
 *
 * After printing, throws when there is no token or its source fails (kind `config`, exit 3), or
 * when the token has expired. Assumed: an expired token is an error of kind `auth`, exit 4, because
 * the service would return 401.
 */
export async function showStatus(context: Context): Promise<void> {
  const { io, clock, flags } = context;
  const now = clock.wallMs();
  const settings = await context.settings();
  const stored = await loadStored(io.env);
  const format = chooseFormat(settings.output, REPORT_FORMATS);
  let token = '';
  let failure: unknown;
  try {
    token = await (await context.token()).get();
  } catch (error) {
    failure = error;
  }
  // The stored token is read again, because it may have just been renewed.
  const place = await findTokenPlace(io.env, stored, settings);
  const status = tokenStatus(settings, place, token, now);
  const { expires } = status;
  if (status.expired === true) {
    const message = `the token expired ${showMoment(expires, context.zone, now)}`;
    failure = new FleetError('auth', message, { hint: place?.refusalHint });
  }
  if (format === 'table' && flags.jq === undefined && flags.columns === undefined) {
    const zone = isScreen(context) ? context.zone : undefined;
    const rows = drawStatus(status, token !== '', { now, zone });
    await writeResult(context, drawList(rows, isScreen(context) ? io.stdout.width() : undefined));
  } else await printReport(context, STATUS, [status], format);
  if (failure !== undefined) throw failure;
}

const STATUS: Shape<object> = {
  noun: { one: 'status', many: 'status' },
  columns: [],
  fields: [],
  single: true,
};

/** Returns the status for `--json`. Unknown values are `null`. */
function tokenStatus(
  settings: Settings,
  place: TokenPlace | undefined,
  token: string,
  now: number,
) {
  const login = place?.login;
  const expiry = readExpiry(token);
  const expires = expiry === undefined ? null : new Date(expiry).toISOString();
  return {
    profile: settings.profile.value,
    base_url: settings.baseUrl.shown,
    sse_url: settings.sseUrl.shown,
    organization: settings.organization.shown,
    source: place?.kind ?? null,
    source_detail: place?.origin ?? null,
    expires,
    expires_in_seconds: expiry === undefined ? null : Math.floor((expiry - now) / 1000),
    expired: expiry === undefined ? null : expiry <= now,
    renewable: isRenewable(login),
    // Assumed: without a refresh token, an expired token cannot be renewed.
    renewable_until: isRenewable(login) && login?.refreshToken === undefined ? expires : null,
    claims: readClaims(token) ?? null,
  };
}

/**
 * Formats a time: in a time zone for human-readable output, or in ISO 8601 for machine-readable
 * output.
 */
function showTime(iso: string, zone: TimeZone | undefined): string {
  return zone === undefined ? iso : showLocalTime(Date.parse(iso), zone);
}

function showMoment(iso: string | null, zone: TimeZone | undefined, now: number): string {
  return iso === null ? 'unknown' : `${age(iso, now)} (${showTime(iso, zone)})`;
}

function drawStatus(
  status: ReturnType<typeof tokenStatus>,
  hasToken: boolean,
  { now, zone }: { now: number; zone: TimeZone | undefined },
): string[][] {
  const { expires, expired, claims } = status;
  const places = [
    ['profile', status.profile],
    ['address', status.base_url ?? '-'],
    ['push address', status.sse_url ?? '-'],
    ['organization', status.organization ?? '-'],
    ['token', status.source_detail ?? 'none'],
  ];
  if (!hasToken) return places;
  return [
    ...places,
    [expired === true ? 'expired' : 'expires', showMoment(expires, zone, now)],
    ...(status.renewable ? [['renewable', describeRenewal(status.renewable_until, zone)]] : []),
    ...(claims === null ? [['claims', 'none: the token is not a JWT']] : []),
    ...Object.entries(claims ?? {}).map(([claim, value]) => [`claim ${claim}`, showClaim(value)]),
  ];
}

function describeRenewal(until: string | null, zone: TimeZone | undefined): string {
  const end = until === null ? 'with the refresh token' : `until ${showTime(until, zone)}`;
  return `${end}: every command renews it in the second half of its life`;
}

/** Formats a claim. Observed: `affs` is `{organization: [roles]}`. */
function showClaim(value: unknown): string {
  if (isObject(value) && Object.values(value).every(Array.isArray))
    return Object.entries(value)
      .map(([name, words]) => `${name}: ${String(words).replaceAll(',', ', ')}`)
      .join('; ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
