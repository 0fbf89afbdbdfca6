// `fleet auth status`: profile, address, token source, expiry and claims; never the token, and nothing is sent.

import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { isObject } from '../../json/parse.js';
import { findLooseness, loadStored } from '../../settings/store.js';
import { readClaims, readExpiry } from '../../settings/token.js';
import { findTokenPlace, loginCommand, missingToken } from '../../settings/token-place.js';
import type { Shape } from '../../terminal/formats.js';
import { drawList } from '../../terminal/list.js';
import { age } from '../../terminal/time.js';
import { chooseReportFormat, printReport } from '../shared/change-report.js';
import { isScreen, writeResult } from '../shared/list/target.js';

/** The object of `--json`; `null` where there is nothing to say. */
interface Status extends TokenStatus {
  profile: string;
  base_url: string | null;
  sse_url: string | null;
  organization: string | null;
  warnings: string[];
}

interface TokenStatus {
  /** `variable`, `file`, `command` or `stored`. */
  source: string | null;
  /** The source in words. */
  source_detail: string | null;
  /** ISO 8601. */
  expires: string | null;
  expires_in_seconds: number | null;
  expired: boolean | null;
  /** ISO 8601: until when commands can renew it by themselves; null where they cannot. */
  renewable_until: string | null;
  claims: { [claim: string]: unknown } | null;
}

/**
 * Prints the status, then throws when there is no token (kind `config`, exit 3), when its source fails (the same), or
 * when it has expired (Assumed: kind `auth`, exit 4, as the service would answer 401).
 */
export async function showStatus(context: Context): Promise<void> {
  const { io, clock, notice } = context;
  const now = clock.wallMs();
  const settings = await context.settings();
  const stored = await loadStored(io.env);
  const format = chooseReportFormat(settings.output);
  const profile = settings.profile.value;
  const place = await findTokenPlace(io.env, stored, settings);
  const loose = findLooseness(stored.credentialsPath, 'tokens');
  const warning = loose === undefined ? undefined : `warning: ${loose.problem}; run: ${loose.command}`;

  let token: string | undefined;
  let failure: unknown = place === undefined ? missingToken(profile) : undefined;
  if (place !== undefined) {
    try {
      token = await (await context.token()).get();
    } catch (error) {
      failure = error;
    }
  }
  const expiry = token === undefined ? undefined : readExpiry(token);
  const expires = expiry === undefined ? null : new Date(expiry).toISOString();
  const status: Status = {
    profile,
    base_url: settings.baseUrl.shown,
    sse_url: settings.sseUrl.shown,
    organization: settings.organization.shown,
    source: place?.kind ?? null,
    source_detail: place?.origin ?? null,
    expires,
    expires_in_seconds: expiry === undefined ? null : Math.floor((expiry - now) / 1000),
    expired: expiry === undefined ? null : expiry <= now,
    // Assumed: an expired token cannot be renewed.
    renewable_until: place?.kind === 'stored' && place.login !== undefined ? expires : null,
    claims: (token === undefined ? undefined : readClaims(token)) ?? null,
    warnings: warning === undefined ? [] : [warning],
  };
  if (status.expired === true) {
    failure = new FleetError('auth', `the token expired ${age(expires, now)} (${expires})`, {
      hint:
        place?.kind === 'stored'
          ? `run "${loginCommand(profile, place.login)}" again`
          : `renew it at its source: ${place?.origin}`,
    });
  }
  if (format === 'table' && context.flags.jq === undefined && context.flags.columns === undefined)
    await writeResult(
      context,
      drawList(describeStatus(status, token !== undefined, now), isScreen(context) ? io.stdout.width() : undefined),
    );
  else await printReport(context, STATUS, [status], format);
  if (format === 'table' && warning !== undefined) await notice(warning);
  if (failure !== undefined) throw failure;
}

const STATUS: Shape<Status> = { noun: { one: 'status', many: 'status' }, columns: [], fields: [], single: true };

function describeStatus(status: Status, hasToken: boolean, now: number): string[][] {
  const rows = [
    ['profile', status.profile],
    ['address', status.base_url ?? '-'],
    ['push address', status.sse_url ?? '-'],
    ['organization', status.organization ?? '-'],
    ['token', status.source_detail ?? 'none'],
  ];
  if (hasToken) {
    const { expires, expired, claims } = status;
    rows.push([
      expired === true ? 'expired' : 'expires',
      expires === null ? 'unknown' : `${age(expires, now)} (${expires})`,
    ]);
    if (status.renewable_until !== null)
      rows.push(['renewable', `until ${status.renewable_until}: any command that runs before then renews it`]);
    if (claims === null) rows.push(['claims', 'none: the token is not a JWT']);
    for (const [claim, value] of Object.entries(claims ?? {})) rows.push([`claim ${claim}`, showClaim(value)]);
  }
  return rows;
}

/** Observed: `affs` is `{organization: [roles]}`. */
function showClaim(value: unknown): string {
  if (isObject(value) && Object.values(value).every(Array.isArray))
    return Object.entries(value)
      .map(([name, words]) => `${name}: ${String(words).replaceAll(',', ', ')}`)
      .join('; ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
