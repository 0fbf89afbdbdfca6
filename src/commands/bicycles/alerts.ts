// Reads the alerts of bicycles. When this fails, the caller continues without alerts.

import { ALERT, type Alert, isOpenState } from '../../api/alert.js';
import { openAlertPages } from '../../api/alert-pages.js';
import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import { readAlertFeed } from '../../follower/alert-feed.js';
import { alertIdOf } from '../../follower/known-alerts.js';
import type { Item, Query } from '../../http/types.js';
import { scopeOf } from '../../list/organization.js';

const OPEN_STATES = [
  ['state', 'new'],
  ['state', 'escalated'],
] as const;

/** Returns new and escalated alerts. Returns undefined in the same cases as `readAlertsOf`. */
export async function readOpenAlerts(
  context: Context,
  asked: string | undefined,
  bicycles: ReadonlySet<string>,
): Promise<Item<Alert>[] | undefined> {
  const query: Query = [...(await scopeOf(context, asked)), ...OPEN_STATES];
  const alerts = await readAlertsOf(context, bicycles, query);
  return alerts?.filter(isOpenAlert);
}

/**
 * Returns the same alerts as `readOpenAlerts`, but requests only one page at a time. Commands that
 * read the alerts repeatedly use this function, because it puts less load on the service.
 */
export async function readOpenAlertFeed(
  context: Context,
  asked: string | undefined,
  bicycles: ReadonlySet<string>,
): Promise<Item<Alert>[] | undefined> {
  const scope = await scopeOf(context, asked);
  // The pages are read again when alerts were deleted meanwhile, so an alert can occur twice. The
  // Map removes such duplicates.
  const found = new Map<string, Item<Alert>>();
  return orWithoutAlerts(context, async () => {
    await readAlertFeed({
      filters: [...scope, ...OPEN_STATES],
      order: 'created',
      hasLargePages: true,
      readPage: openAlertPages(await context.client()),
      takePage(alerts) {
        for (const alert of alerts) found.set(alertIdOf(alert), alert);
        return { hasNews: true, isEnough: false };
      },
    });
    return [...found.values()].filter((alert) => isOpenAlert(alert) && isAbout(alert, bicycles));
  });
}

/**
 * Reads alerts with a query, and returns those of the given bicycles (lower-case UUIDs). fleet
 * itself compares the bicycles, because a service may ignore a filter.
 *
 * When alerts cannot be read, prints a notice and returns undefined.
 */
async function readAlertsOf(
  context: Context,
  bicycles: ReadonlySet<string>,
  query: Query,
): Promise<Item<Alert>[] | undefined> {
  const alerts: Item<Alert>[] = [];
  const request = { path: ALERT.listPath, query, subject: 'the list of alerts' };
  return orWithoutAlerts(context, async () => {
    const pages = (await context.client()).pages<Alert>(request);
    for await (const { fresh } of pages)
      alerts.push(...fresh.filter((alert) => isAbout(alert, bicycles)));
    return alerts;
  });
}

/** The newest alerts of a bicycle. */
export interface NewestAlerts {
  readonly alerts: readonly Item<Alert>[];
  /** Whether `alerts` contains all alerts of the bicycle. */
  readonly isWhole: boolean;
}

/**
 * Reads one page of the newest alerts of a bicycle. Returns undefined in the same cases as
 * `readAlertsOf`.
 */
export async function readNewestAlerts(
  context: Context,
  uuid: string,
): Promise<NewestAlerts | undefined> {
  const query: Query = [
    ['bicycle', uuid],
    ['ordering', '-created'],
  ];
  const request = { path: ALERT.listPath, query, subject: 'the list of alerts' };
  return orWithoutAlerts(context, async () => {
    const client = await context.client();
    for await (const { fresh, next } of client.pages<Alert>(request, { ahead: 0, limit: 1 })) {
      const alerts = fresh.filter((alert) => isAbout(alert, new Set([uuid])));
      return { alerts, isWhole: next === undefined };
    }
    return { alerts: [], isWhole: true };
  });
}

/** Prints a notice and returns undefined when the alerts cannot be read. */
async function orWithoutAlerts<T>(
  context: Context,
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (thrown) {
    if (context.signal.aborted) throw context.signal.reason;
    await context.notice(`! alerts are left out: ${asFleetError(thrown).message}`);
    return undefined;
  }
}

/** Whether the alert is open. fleet checks this itself, because a service may ignore a filter. */
export function isOpenAlert({ value: { state } }: Item<Alert>): boolean {
  return isOpenState(state);
}

function isAbout({ value: { bicycle } }: Item<Alert>, bicycles: ReadonlySet<string>): boolean {
  return bicycles.has(
    typeof bicycle === 'string' ? (wholeUuid(bicycle) ?? bicycle).toLowerCase() : '',
  );
}
