// The types of the state machine that follows alerts: its plan, events and effects.

import type { Alert } from '../../api/alert.js';
import type { FleetError } from '../../errors.js';
import type { EndOptions } from '../../follow/flags.js';
import type { CommonEffect, CommonEvent } from '../../follow/loop.js';
import type { AlertItem, Version } from '../../follower/known-alerts.js';
import type { Page, Query } from '../../http/types.js';
import type { TimeZone } from '../../system/time-zone.js';
import type { Marks } from './state-file.js';
import type { AlertSubjects } from './subjects.js';
import type { Webhook } from './webhook-receiver.js';

/** Which alerts to follow, and when to stop. */
export interface AlertsPlan extends EndOptions {
  /** The time zone for times in the conditions of --until. Default: the machine's zone. */
  zone?: TimeZone;
  readonly form: 'lines' | 'json';
  /** The filters to send with each list request, without the order and the page. */
  readonly query: Query;
  /** Limits the watch to alerts of these types, and to changes into one of these states. */
  readonly type?: readonly string[] | undefined;
  readonly state?: readonly string[] | undefined;
  /** The part of the fleet whose alerts are shown; undefined for all alerts. */
  readonly subjects?: AlertSubjects | undefined;
  /** How long to wait between two reads of the list. Undefined when the list is never read. */
  readonly everyMs: number | undefined;
  /** Whether the list is read only to find alerts for which no webhook arrived. */
  readonly isBackfill: boolean;
  /** At startup, alerts that changed since this time are shown. */
  readonly sinceMs?: number | undefined;
}

export type AlertsEvent =
  /** A page of the list arrived. `serviceMs` is the service's time. */
  | { readonly type: 'page'; readonly page: Page<Alert>; readonly serviceMs: number }
  | { readonly type: 'failed'; readonly error: FleetError; readonly askedMs: number | undefined }
  | { readonly type: 'webhook'; readonly webhook: Webhook }
  /**
   * The events that all follow commands share. When a topic is followed, they include the events of
   * the push channel.
   */
  | CommonEvent;

export interface Show {
  readonly type: 'show';
  readonly item: AlertItem;
  readonly version: Version;
  /** The previous state of the alert, when it is known and differs from the new state. */
  readonly before: string | undefined;
  /** Set when the list contained the alert but no webhook delivered it. */
  readonly mark: 'caught-up' | undefined;
}

export type AlertsEffect =
  | Show
  /** Marks a version of an alert as known, without showing it. */
  | { readonly type: 'learned'; readonly version: Version }
  /** Stores the time up to which the list was read, by the service's clock. */
  | { readonly type: 'cursor'; readonly marks: Marks }
  /**
   * Requests a page of the list. The result arrives as one `page` or `failed` event. Only one
   * request is in flight at a time.
   */
  | { readonly type: 'read-page'; readonly query: Query }
  | {
      readonly type: 'unread';
      readonly error: FleetError;
      readonly retryInMs: number;
      /** The pause that the service asked for. Only set when fleet waits for a shorter time. */
      readonly cappedFromMs: number | undefined;
    }
  /** The list was read for the first time. */
  | { readonly type: 'ready'; readonly alerts: number }
  | { readonly type: 'back'; readonly downMs: number }
  | { readonly type: 'bound'; readonly items: number }
  /** A message that is printed with `--verbose`. */
  | { readonly type: 'detail'; readonly text: string }
  /** Asks for a `tick` event after this time. */
  | { readonly type: 'wake'; readonly inMs: number }
  /**
   * Accepts a received webhook. The sender gets its response after all earlier effects have been
   * carried out.
   */
  | { readonly type: 'accepted'; readonly webhook: Webhook; readonly isNews: boolean }
  | CommonEffect;
