// What following alerts is asked to do, what happens to it, and what it wants done.

import type { Alert } from '../../api/alert.js';
import type { FleetError } from '../../errors.js';
import type { Page, Query } from '../../http/types.js';
import type { TimeZone } from '../../system/time-zone.js';
import type { EndOptions } from '../shared/follow/ending.js';
import type { CommonEffect, CommonEvent } from '../shared/follow/loop.js';
import type { AlertItem, Version } from './known.js';
import type { Marks } from './state-file.js';
import type { Webhook } from './webhook-receiver.js';

/** What following alerts is asked to do. */
export interface AlertsPlan extends EndOptions {
  /** The zone of times in conditions; the machine's when absent. */
  zone?: TimeZone;
  readonly form: 'lines' | 'json';
  /** What the list is asked for, besides order and page. */
  readonly query: Query;
  /** Only alerts of these types, and that enter these states. */
  readonly type?: readonly string[] | undefined;
  readonly state?: readonly string[] | undefined;
  /** The pause between two readings of the list; undefined: it is never read. */
  readonly everyMs: number | undefined;
  /** The list only brings what no webhook did. */
  readonly isBackfill: boolean;
  /** What changed since then is shown at the start. */
  readonly sinceMs?: number | undefined;
}

export type AlertsEvent =
  /** A page of the list; `serviceMs` is the time at the service. */
  | { readonly type: 'page'; readonly page: Page<Alert>; readonly serviceMs: number }
  | { readonly type: 'failed'; readonly error: FleetError; readonly askedMs: number | undefined }
  | { readonly type: 'webhook'; readonly webhook: Webhook }
  /** What the push channel says, where a topic is followed, among others. */
  | CommonEvent;

export interface Show {
  readonly type: 'show';
  readonly item: AlertItem;
  readonly version: Version;
  /** The state before, where it differs and is known. */
  readonly before: string | undefined;
  /** No webhook brought it. */
  readonly mark: 'caught-up' | undefined;
}

export type AlertsEffect =
  | Show
  /** Known from now on, not shown. */
  | { readonly type: 'learned'; readonly version: Version }
  /** The list was read up to this moment of the service. */
  | { readonly type: 'cursor'; readonly marks: Marks }
  /** Answered by one `page` or `failed`; there is one at a time. */
  | { readonly type: 'read-page'; readonly query: Query }
  | {
      readonly type: 'unread';
      readonly error: FleetError;
      readonly retryInMs: number;
      /** What the service asked for, where that is too long to be waited. */
      readonly cappedFromMs: number | undefined;
    }
  /** The list was read for the first time. */
  | { readonly type: 'ready'; readonly alerts: number }
  | { readonly type: 'back'; readonly downMs: number }
  | { readonly type: 'bound'; readonly items: number }
  /** For `--verbose`. */
  | { readonly type: 'detail'; readonly text: string }
  /** A `tick` is wanted then. */
  | { readonly type: 'wake'; readonly inMs: number }
  /** A webhook was taken in; it is answered when what stands before this was delivered. */
  | { readonly type: 'accepted'; readonly webhook: Webhook; readonly isNews: boolean }
  | CommonEffect;
