// The plan, events and effects of following alerts.

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

/** What to follow and when to end. */
export interface AlertsPlan extends EndOptions {
  /** The time zone of times in conditions. Default: the machine's zone. */
  zone?: TimeZone;
  readonly form: 'lines' | 'json';
  /** The filters of the list, without the parameters for order and page. */
  readonly query: Query;
  /**
   * Shows only alerts of these types, and shows an alert only when it enters one of these states.
   */
  readonly type?: readonly string[] | undefined;
  readonly state?: readonly string[] | undefined;
  /** The part of the fleet whose alerts are shown; undefined for all alerts. */
  readonly subjects?: AlertSubjects | undefined;
  /** The pause between two reads of the list; undefined to never read it. */
  readonly everyMs: number | undefined;
  /** Whether the list is read only to find alerts that webhooks missed. */
  readonly isBackfill: boolean;
  /** Changes since this time are shown at the start. */
  readonly sinceMs?: number | undefined;
}

export type AlertsEvent =
  /** A page of the list. `serviceMs` is the service's time. */
  | { readonly type: 'page'; readonly page: Page<Alert>; readonly serviceMs: number }
  | { readonly type: 'failed'; readonly error: FleetError; readonly askedMs: number | undefined }
  | { readonly type: 'webhook'; readonly webhook: Webhook }
  /** Events of the push channel, when a topic is followed, and other shared events. */
  | CommonEvent;

export interface Show {
  readonly type: 'show';
  readonly item: AlertItem;
  readonly version: Version;
  /** The previous state, if it is known and different. */
  readonly before: string | undefined;
  /** Set when webhooks missed the alert. */
  readonly mark: 'caught-up' | undefined;
}

export type AlertsEffect =
  | Show
  /** A version that counts as known from now on, without being shown. */
  | { readonly type: 'learned'; readonly version: Version }
  /** The list was read up to this time, by the service's clock. */
  | { readonly type: 'cursor'; readonly marks: Marks }
  /**
   * Requests a page. The answer is one event `page` or `failed`. Only one request is in progress at
   * a time.
   */
  | { readonly type: 'read-page'; readonly query: Query }
  | {
      readonly type: 'unread';
      readonly error: FleetError;
      readonly retryInMs: number;
      /** The pause that the service asked for, if it is longer than fleet waits. */
      readonly cappedFromMs: number | undefined;
    }
  /** The list was read for the first time. */
  | { readonly type: 'ready'; readonly alerts: number }
  | { readonly type: 'back'; readonly downMs: number }
  | { readonly type: 'bound'; readonly items: number }
  /** For `--verbose`. */
  | { readonly type: 'detail'; readonly text: string }
  /** Requests a `tick` after this time. */
  | { readonly type: 'wake'; readonly inMs: number }
  /** A webhook was received. It is answered after all earlier effects were carried out. */
  | { readonly type: 'accepted'; readonly webhook: Webhook; readonly isNews: boolean }
  | CommonEffect;
