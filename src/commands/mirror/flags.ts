// The flags of the `fleet mirror` verbs.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { BICYCLE } from '../../api/bicycle.js';
import type { FlagsOf, NoFlags } from '../../cli/command.js';
import { collect, portNumber, readSpeed, wholeNumber } from '../../cli/options.js';
import { addIdleFlag, addRoleFlag, readDuration } from '../../follow/flags.js';
import { readCondition } from '../../list/flags.js';
import { readTo, TO } from '../../list/mirror-flags.js';
import { addFilters } from '../bicycles/list-flags.js';
import { ALL_FLAG } from '../watch/flags.js';

/**
 * Adds the flags that `run` and `once` have in common. `keep` is in milliseconds, and older history
 * is deleted.
 */
export function addWriterFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const organization =
    'mirror this organization (repeatable; default: from the settings, else all in the token)';
  const keep = 'forget history older than this, such as 90d (default: keep all)';
  return command
    .option(...TO, readTo)
    .option('--organization <uuid|name>', organization, collect)
    .option('--keep <duration>', keep, readDuration('--keep'));
}

export type OnceOptions = FlagsOf<typeof addWriterFlags<[], NoFlags>>;

/** Adds the flags of `run`. */
export function addMirrorRunFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const metrics = 'serve /metrics (Prometheus) and /healthz on this port, on loopback only';
  const standby = 'where another writer keeps the organization: wait, and take over when it ends';
  const flagged = addWriterFlags(command)
    .option('--metrics <port>', metrics, portNumber('--metrics'))
    .option('--standby', standby);
  return addRoleFlag(addIdleFlag(flagged));
}

export type MirrorRunOptions = FlagsOf<typeof addMirrorRunFlags<[], NoFlags>>;

/** The flags of `run` and `once`. Only `run` has `standby`. */
export type WriterOptions = OnceOptions & Pick<MirrorRunOptions, 'standby'>;

/** The default speed of a replay: one hour of history takes one minute. */
const DEFAULT_SPEED = 60;

/** Adds the flags of `replay`. With speed Infinity, the replay has no pauses. */
export function addReplayFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const speed = 'play this many times as fast as it happened; max: without pauses';
  return addFilters(command)
    .option(...TO, readTo)
    .option(
      '--since <time>',
      'start at this time: 2h, yesterday, "2026-11-23 08:00" (default: at the beginning)',
    )
    .option('--until <time>', 'stop at this time, like --since (default: at the end)')
    .option('--speed <factor>', speed, readSpeed, DEFAULT_SPEED)
    .option(
      '--where <condition>',
      'show only what matches FIELD=VALUE (repeatable)',
      readCondition(BICYCLE),
    )
    .option(...ALL_FLAG)
    .option('--max-events <n>', 'exit after this many messages', wholeNumber('--max-events', 1))
    .option('--live', 'draw a full-screen board instead of lines');
}

export type ReplayOptions = FlagsOf<typeof addReplayFlags<[], NoFlags>>;
