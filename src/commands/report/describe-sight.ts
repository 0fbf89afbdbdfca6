// Describes for which times of a period the mirror has data.

import { showLocalTime, type TimeZone } from '../../system/time-zone.js';
import { showDuration } from '../../terminal/time.js';
import type { CountsOverTime } from './count-over-time.js';
import type { Interval } from './parts.js';

const SHOWN_TIMES = 3;

/** Returns lines about the period and about the times for which the mirror has no data. */
export function describeSight(counts: CountsOverTime, zone: TimeZone): string[] {
  const { period, unseen, coverage, timezone, rows } = counts;
  const show = (ms: number) => showLocalTime(ms, zone);
  const lines = [
    `${show(period.fromMs)} to ${show(period.untilMs)} (${timezone}), ${coverage} % of this period is covered by the mirror`,
  ];
  if (unseen.length > 0) {
    const times = unseen
      .slice(0, SHOWN_TIMES)
      .map(({ fromMs, untilMs }) => `${show(fromMs)} to ${show(untilMs)}`);
    const others = unseen.length - times.length;
    const more = others === 0 ? '' : ` and ${others} more`;
    lines.push(
      `! the mirror has no data for ${showDuration(lengthOf(unseen))} of this time (hatched): ${times.join(', ')}${more}`,
    );
  }
  if (rows.some(({ certain, coverage: seen }) => !certain && seen > 0))
    lines.push('~ marks counts that may be too low');
  return lines;
}

function lengthOf(intervals: readonly Interval[]): number {
  return intervals.reduce((sum, { fromMs, untilMs }) => sum + untilMs - fromMs, 0);
}
