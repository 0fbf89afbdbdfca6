// Decides by evidence whether an action without an answer was carried out (cli.md, bicycles act).

import { wholeUuid } from '../api/links.js';
import { isObject } from '../json/parse.js';
import { readClaims } from '../settings/token.js';
import { clean } from '../terminal/clean.js';
import { readTime } from '../terminal/time.js';
import type { Person, Sending, Start } from './journal-records.js';
import type { TaskDecision } from './plan.js';

/** One step in the service's own history of a bicycle. */
export interface HistoryEntry {
  timestamp: string | null;
  transition: string | null;
  /** The author, as far as the service names one. */
  by: Person;
}

/** The service's data about a bicycle after all requests in flight have arrived. */
export interface Evidence {
  /** Undefined: the service does not show the bicycle. */
  now: { state: string | null; modified: string | null; version: string | null } | undefined;
  /** Undefined: the service has no history, or does not show it. */
  history: readonly HistoryEntry[] | undefined;
}

/** The transition that was sent, and the states that it is known to lead to. */
export interface SentTransition {
  name: string;
  targets: ReadonlySet<string>;
}

/**
 * Decides an action without an answer. `done`: the history shows the transition by this user after
 * the start of the run, or the state before differs from the state now, which is a target, and the
 * history does not contradict this. `untouched`: the bicycle was not saved since the run began.
 * A newer `modified` proves nothing. Everything else is unknown.
 */
export function decideAction(
  sending: Sending,
  evidence: Evidence | undefined,
  transition: SentTransition,
): TaskDecision {
  const { now, history } = evidence ?? {};
  const state = now?.state ?? null;
  const unknown = (why: string): TaskDecision => ({ kind: 'unknown', state, why });
  if (history?.some((entry) => provesAction(entry, sending, transition.name)))
    return { kind: 'done', state, how: 'history', why: "the service's history shows it" };
  if (now === undefined) return unknown('the service does not show the bicycle');
  if (isUntouched(now, sending)) return { kind: 'untouched' };
  const contradiction = findContradiction(history, sending, transition.name);
  if (contradiction !== undefined) return unknown(contradiction);
  const before = sending.before?.state ?? null;
  if (before === null || state === null) return unknown(whyUnknownBefore(history));
  if (before === state) return unknown(`it was ${before} before`);
  if (!transition.targets.has(state)) return unknown(`it was ${before} before, and changed since`);
  return { kind: 'done', state, how: 'state', why: `it was ${before} before and is ${state} now` };
}

/** The reason for an unknown action of a bicycle whose state before was not recorded. */
function whyUnknownBefore(history: Evidence['history']): string {
  if (history === undefined || history.length === 0) return 'it was changed since';
  return "the service's history shows it in the second in which the run began, and its state before is not known";
}

/** Whether two names are the same transition. Observed: the history calls a return `return_`. */
export function isSameTransition(one: string | null, other: string): boolean {
  return one !== null && lettersOf(one) === lettersOf(other);
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}]/gu, '');
}

/** Whether an entry is this user's transition in a second that is certainly after the start. */
function provesAction(
  { transition, timestamp, by }: HistoryEntry,
  { start, afterMs }: Sending,
  name: string,
): boolean {
  const moment = spanOf(timestamp);
  const began = [start.newest, start.date].map(readTime).filter((one) => one !== undefined);
  if (moment === undefined || began.length === 0) return false;
  if (!isSameTransition(transition, name) || !isOneOf(by, start.user)) return false;
  // The later of the newest change and the service's own date.
  const beganMs = Math.max(...began);
  // In the second of the start, this user may have done the same before the run.
  return isLaterSecond(moment.fromMs, beganMs) && moment.toMs >= Math.floor(beganMs + afterMs);
}

function isLaterSecond(milliseconds: number, otherMilliseconds: number): boolean {
  return Math.floor(milliseconds / 1000) > Math.floor(otherMilliseconds / 1000);
}

/**
 * Returns why the history does not allow to conclude the action from the states before and now:
 * a different author or transition since the second of the start, or no transition since then.
 * Undefined when there is no history, or when it shows only this user's transition.
 */
function findContradiction(
  history: Evidence['history'],
  { start }: Sending,
  name: string,
): string | undefined {
  if (history === undefined || history.length === 0) return undefined;
  const beganMs = readTime(start.date) ?? readTime(start.newest);
  if (beganMs === undefined)
    return "the service's history cannot be compared: the service says no time";
  const recent: HistoryEntry[] = [];
  for (const entry of history) {
    const moment = spanOf(entry.timestamp);
    if (moment === undefined) return "the service's history does not say when it was changed";
    if (!isLaterSecond(beganMs, moment.toMs)) recent.push(entry);
  }
  if (recent.length === 0) return "the service's history does not show it";
  const other = recent.find((entry) => !isSameTransition(entry.transition, name));
  if (other !== undefined)
    return `the service's history shows "${clean(other.transition ?? 'none')}" since the run began`;
  if (recent.every(({ by }) => isOneOf(by, start.user))) return undefined;
  return "the service's history does not show that this user did it";
}

function isUntouched(now: NonNullable<Evidence['now']>, { start, before }: Sending): boolean {
  if (before?.version != null && before.version === now.version) return true;
  return isCertainlyNotLater(now.modified, lastMomentBefore(start));
}

/** Returns the earliest and latest milliseconds since the epoch of an ISO 8601 time. A time without decimals covers its whole second. */
function spanOf(moment: unknown): { fromMs: number; toMs: number } | undefined {
  const fromMs = readTime(moment);
  if (fromMs === undefined) return undefined;
  return /[.,]\d{3}/.test(String(moment))
    ? { fromMs, toMs: fromMs }
    : { fromMs, toMs: fromMs + 999 };
}

/** Whether a moment is certainly not later than another. False when one of them is null. */
export function isCertainlyNotLater(moment: unknown, other: string | null): boolean {
  const [span, otherSpan] = [spanOf(moment), spanOf(other)];
  return span !== undefined && otherSpan !== undefined && span.toMs <= otherSpan.fromMs;
}

/** Whether a moment is certainly later than another. */
export function isCertainlyLater(moment: unknown, other: string): boolean {
  const [span, otherSpan] = [spanOf(moment), spanOf(other)];
  return span !== undefined && otherSpan !== undefined && span.fromMs > otherSpan.toMs;
}

/**
 * Returns the latest moment that is certainly before the run: the earlier of the newest change and the
 * service's own date, because a `modified` can lie in the future. Null when one of them is unknown.
 */
export function lastMomentBefore({ newest, date }: Start): string | null {
  if (newest === null || date === null) return null;
  return isCertainlyNotLater(newest, date) ? newest : date;
}

/** Identifier kinds, most reliable first. */
const KINDS = ['uuid', 'id', 'email', 'username'] as const;

/** Longer than any name. */
const NAME_CHARACTERS = 300;

/** Returns the identifiers of the user that a text, number or object names; none when nothing can be compared. */
export function personOf(value: unknown): Person {
  if (isObject(value)) {
    const { uuid, url, id, email, username } = value;
    const named = { email: nameIn(email), username: nameIn(username) };
    return { ...named, ...identityIn(id), ...identityIn(url), ...identityIn(uuid) };
  }
  const name = nameIn(value);
  return (
    identityIn(value) ??
    (name === undefined ? {} : { [name.includes('@') ? 'email' : 'username']: name })
  );
}

function nameIn(value: unknown): string | undefined {
  const isName =
    typeof value === 'string' && value.length <= NAME_CHARACTERS && /^[^\s/]+$/.test(value.trim());
  return isName ? value.trim().toLowerCase() : undefined;
}

/** The UUID or the number that a value is, or that a link ends in. */
function identityIn(value: unknown): Person | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const text = String(value).slice(0, NAME_CHARACTERS).trim();
  const uuid = wholeUuid(text);
  if (uuid !== undefined) return { uuid };
  const [, id] = /(?:^|\/)(\d{1,18})\/?$/.exec(text) ?? [];
  return id === undefined ? undefined : { id };
}

/** Whether a user is certainly one of these: the most reliable identifier that both have is equal. */
export function isOneOf(someone: Person, people: readonly Person[]): boolean {
  return people.some((one) => {
    const kind = KINDS.find((each) => one[each] !== undefined && someone[each] !== undefined);
    return kind !== undefined && one[kind] === someone[kind];
  });
}

/**
 * Returns the user that a token names. Assumed: `sub` (RFC 7519 section 4.1.2) or `user_id` is a UUID,
 * a number or the user's URL.
 */
export function personOfToken(token: string): Person {
  const { sub, user_id, email, username } = readClaims(token) ?? {};
  return { ...personOf({ email, username }), ...personOf(user_id), ...personOf(sub) };
}
