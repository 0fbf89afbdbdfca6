// What a watch says of itself on stderr: lines for people, JSON lines for programs; the truth about gaps even when quiet.

import type { Context } from '../../context.js';
import type { FleetError } from '../../errors.js';
import type { Gap, StreamEvent } from '../../http/stream/events.js';
import { clean, escapeJson } from '../../terminal/clean.js';
import { showDuration } from '../../terminal/time.js';
import { showClock } from '../../views/change.js';
import { streamLine, streamRecord, summaryLines, summaryRecord, type WatchSummary } from '../../views/stream.js';
import type { Reading } from './catch-up.js';
import { type Change, changedFields } from './knowledge.js';
import type { Plan } from './plan.js';

export interface Voice {
  /** An opening, loss or gap. */
  tell(event: StreamEvent): void;
  /** A change that was found in the list; said only where it has no place on stdout. */
  caughtUp(change: Change, at: number): void;
  /** A reading of the list that is over. */
  read(reading: Reading, at: number): void;
  /** The list did not come and is asked for again. */
  readAgain(reason: string, pauseMs: number, at: number): void;
  /** A list that could not be read: what was missed stays unknown for now. */
  trouble(text: string, error: FleetError, at: number): void;
  /** Only with `--verbose`. */
  detail(text: string): void;
  summary(summary: WatchSummary): Promise<void>;
}

/** How many characters of a broken event `--verbose` shows. */
const DETAIL_CHARACTERS = 200;

/** Opens the voice; `offsetMinutes` is what local time is ahead of UTC. */
export function openVoice(context: Context, plan: Plan, offsetMinutes: number): Voice {
  const { io, flags } = context;
  const isJson = plan.form === 'json';
  const isQuiet = flags.quiet === true;
  const namesTopic = plan.topics.length > 1;
  // The board fills the terminal: what would be said over it is on it already.
  const isMuted = plan.form === 'board' && io.stderr.isTerminal;
  let lastLoss: string | undefined;

  const write = (text: string) => {
    if (!isMuted) void io.stderr.write(`${text}\n`);
  };
  const record = (fields: { [field: string]: unknown }) => write(escapeJson(JSON.stringify(fields)));

  /** In the form of the moment; `always`: a promise about silence, which `--quiet` does not keep back. */
  const say = (always: boolean, fields: { [field: string]: unknown } | undefined, line: string | undefined) => {
    if (isQuiet && !always) return;
    if (isJson) {
      if (fields !== undefined) record(fields);
    } else if (line !== undefined) write(clean(line));
  };

  const detailOf = (gap: Gap) => {
    if (flags.verbose !== true || gap.text === undefined || isJson) return;
    write(clean(`  ${gap.text.slice(0, DETAIL_CHARACTERS)}${gap.text.length > DETAIL_CHARACTERS ? '…' : ''}`));
  };

  return {
    tell(event) {
      if (event.type === 'open') lastLoss = undefined;
      // A night without network is one loss and a new line for each new reason, not a thousand lines.
      if (event.type === 'lost') {
        const isSame = lastLoss === event.error.message && event.attempt > 1;
        lastLoss = event.error.message;
        if (isSame && !isJson) return;
      }
      say(event.type !== 'open', streamRecord(event), streamLine(event, offsetMinutes, namesTopic));
      if (event.type === 'gap') detailOf(event);
    },
    caughtUp(change, at) {
      if (!isJson) return;
      const { uuid, before, after } = change;
      const fields = before === undefined ? [] : changedFields(before, after);
      record({ event: 'resync', at: new Date(at).toISOString(), uuid, changed: fields, bicycle: after });
    },
    read(reading, at) {
      const { since, pages, changes, isComplete, missing } = reading;
      const fields = {
        event: 'resync',
        at: new Date(at).toISOString(),
        since: since === undefined ? null : new Date(since).toISOString(),
        pages,
        changes,
        complete: isComplete,
      };
      const clock = showClock(at, offsetMinutes);
      const read = `read ${pages} ${pages === 1 ? 'page' : 'pages'} of the list`;
      const found =
        changes === 0
          ? 'nothing else changed meanwhile'
          : `${changes} ${changes === 1 ? 'change' : 'changes'} caught up`;
      if (since !== undefined && !isComplete) {
        const advice = 'more may have changed before that; raise --resync-pages to be sure';
        return say(true, fields, `${clock} ${read}: ${found}, but the bound was reached; ${advice}`);
      }
      if (since === undefined && missing !== undefined && missing.size > 0) {
        const which = [...missing].join(', ');
        const text = `not among the last changed bicycles of the list, so not known before the first update: ${which}; raise --resync-pages`;
        return say(false, { ...fields, missing: [...missing] }, text);
      }
      say(false, fields, since === undefined ? undefined : `${clock} ${read}: ${found}`);
    },
    readAgain: (reason, pauseMs, at) =>
      say(
        false,
        {
          event: 'resync',
          at: new Date(at).toISOString(),
          complete: false,
          message: reason,
          retry_in_seconds: pauseMs / 1000,
        },
        `${showClock(at, offsetMinutes)} ${reason}; reading the list again in ${showDuration(pauseMs)}`,
      ),
    trouble: (text, error, at) =>
      say(
        true,
        {
          event: 'resync',
          at: new Date(at).toISOString(),
          complete: false,
          kind: error.kind,
          message: error.message,
          status: error.status ?? null,
        },
        `${showClock(at, offsetMinutes)} ${text}`,
      ),
    detail(text) {
      if (flags.verbose === true) say(true, undefined, text);
    },
    async summary(summary) {
      if (isQuiet) return;
      const text = isJson
        ? escapeJson(JSON.stringify(summaryRecord(summary)))
        : summaryLines(summary, offsetMinutes, namesTopic).join('\n');
      await io.stderr.write(`${text}\n`);
    },
  };
}
