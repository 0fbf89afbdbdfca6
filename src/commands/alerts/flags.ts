// The flags of the `fleet alerts` verbs.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { ALERT, ALERT_STATES, ALERT_TYPES } from '../../api/alert.js';
import { BICYCLE_STATES } from '../../api/bicycle.js';
import { createOption, type FlagsOf, type NoFlags } from '../../cli/command.js';
import { anyText, BICYCLES } from '../../cli/completions.js';
import { collect, portNumber, someOf } from '../../cli/options.js';
import { usageError } from '../../errors.js';
import { addDeliveryFlags } from '../../follow/delivery-flags.js';
import { addEndFlags, readDuration } from '../../follow/flags.js';
import { addListFlags, ORGANIZATION_FLAG, readCondition } from '../../list/flags.js';
import { addOtherFilters } from '../bicycles/list-flags.js';
import { BICYCLE_ARGUMENT } from '../bicycles/methods-and-groups.js';

/** Maps common synonyms of alert states and types to the words that the service uses. */
const OTHER_STATES = { open: 'new,escalated', closed: 'resolved,stopped' };
const OTHER_TYPES = {
  battery: 'lock.bat.low',
  low_battery: 'lock.bat.low',
  stolen: 'bicycle.bike_stolen',
};

/** The shortest pause between two reads of the alert list. */
const SHORTEST_PAUSE_MS = 100;

/** Adds the flags of `list`. */
export function addAlertListFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const filtered = command
    .option(
      '--state <state,…>',
      `filter by state: ${ALERT_STATES.join(', ')} (repeatable)`,
      someOf('state', ALERT_STATES, OTHER_STATES),
    )
    .option(
      '--type <type,…>',
      `filter by type: ${ALERT_TYPES.join(', ')} (repeatable)`,
      someOf('type', ALERT_TYPES, OTHER_TYPES),
    )
    .option('--bicycle <bicycle>', `filter by bicycle: ${BICYCLE_ARGUMENT}`, anyText(BICYCLES));
  return addListFlags(filtered, ALERT, '-created');
}

export type ListAlertsOptions = FlagsOf<typeof addAlertListFlags<[], NoFlags>>;

/** Adds the flags of `watch`. */
export function addAlertWatchFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const every = createOption('--every <duration>', 'how often to read the list')
    .argParser(readDuration('--every', SHORTEST_PAUSE_MS))
    .default(15_000, '15s');
  const typed = command
    .option(...ORGANIZATION_FLAG)
    .option(
      '--type <type,…>',
      'filter by type (repeatable)',
      someOf('type', ALERT_TYPES, OTHER_TYPES),
    )
    .option(
      '--state <state,…>',
      'only alerts that enter these states (repeatable)',
      someOf('state', ALERT_STATES, OTHER_STATES),
    )
    .option(
      '--bicycle-state <state,…>',
      'only alerts of bicycles in these states (repeatable)',
      someOf('state', BICYCLE_STATES),
    );
  const filtered = addOtherFilters(typed)
    .addOption(every)
    .option(
      '--since <time>',
      'also show what changed since this time: 2h, yesterday, "2026-11-23 08:00"',
    )
    .option('--state-file <path>', 'remember the printed alerts in this file, across restarts')
    .option(
      '--topic <topic>',
      'also follow this topic of the push channel, not encoded (repeatable)',
      collect,
    );
  return addEndFlags(addDeliveryFlags(filtered, 'alert'), 'alerts', readCondition(ALERT));
}

export type WatchAlertsOptions = FlagsOf<typeof addAlertWatchFlags<[], NoFlags>>;

/**
 * Adds the flags of `listen`. `backfill` is in milliseconds; 0 means that the list is never read.
 */
export function addListenFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const backfill = createOption(
    '--backfill <duration>',
    'how often to read the list for missed alerts; 0: never',
  )
    .argParser(readBackfill)
    .default(300_000, '5m');
  const served = command
    .option('--port <n>', 'port to listen on, 0 for any free one', portNumber('--port'), 4020)
    .option(
      '--host <address>',
      'address to listen on; a secret is required beyond loopback',
      '127.0.0.1',
    )
    .option('--path <path>', 'path of the webhook', readPath, '/')
    .option('--secret-env <name>', 'environment variable with the secret for signatures')
    .option('--signature-header <name>', 'header with the signature', 'X-Fleet-Signature')
    .option('--forward <url>', 'pass each webhook on to this address', readForward)
    .addOption(backfill);
  return addEndFlags(served, 'alerts', readCondition(ALERT));
}

export type ListenOptions = FlagsOf<typeof addListenFlags<[], NoFlags>>;

function readBackfill(text: string): number {
  return /^0(ms|s|m|h|d)?$/.test(text.trim())
    ? 0
    : readDuration('--backfill', SHORTEST_PAUSE_MS)(text);
}

function readPath(text: string): string {
  if (/^\/[!-~]*$/.test(text) && !/[?#]/.test(text)) return text;
  throw usageError(`--path must be a path such as /alerts, not "${text}"`);
}

function readForward(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    // The error does not quote the address, because a webhook address often contains a secret in
    // its path.
    throw usageError(
      '--forward must be an http or https address',
      'for example: --forward https://hooks.example.com/alerts',
    );
  if (url.username !== '' || url.password !== '')
    throw usageError('--forward must be an address without a user name or password');
  url.hash = '';
  return url;
}
