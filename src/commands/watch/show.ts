// Where the messages of a watch go: lines, JSON lines or the board, behind one interface.

import type { Clock } from '../../clock.js';
import type { Context } from '../../context.js';
import { escapeJson } from '../../terminal/clean.js';
import { loadPaint } from '../../terminal/colour.js';
import { writeResults } from '../../terminal/jq/results.js';
import { changeLine, type Sight } from '../../views/change.js';
import type { Show } from './board.js';
import type { Plan } from './plan.js';

/** Opens the show of the plan. `onTick` is called when the board wants to be drawn. */
export async function openShow(
  context: Context,
  plan: Plan,
  offsetMinutes: number,
  clock: Clock,
  onTick: () => void,
): Promise<Show> {
  if (plan.form === 'board') return (await import('./board.js')).openBoard(context, plan, offsetMinutes, clock, onTick);
  const { stdout } = context.io;
  const paint = await loadPaint(stdout.colorLevel);
  const line = (sight: Sight, at: number) =>
    `${changeLine(sight, at, { width: stdout.width(), terminal: stdout.isTerminal, offsetMinutes, paint })}\n`;
  const isJson = plan.form === 'json';
  const jq = await context.jq();
  return {
    isFullScreen: false,
    // "One envelope a line, exactly as received": newlines between its tokens are all that can be taken out.
    message: (sight, at, data) =>
      isJson ? `${escapeJson(data.includes('\n') ? data.replaceAll('\n', ' ') : data)}\n` : line(sight(), at),
    caughtUp: (sight, at) => (isJson ? '' : line(sight, at)),
    stream: () => '',
    draw: () => '',
    heard() {},
    listed() {},
    alerts() {},
    // jq sees each message by itself; what comes together is fed together, so that jq starts once for many.
    write: async (text) =>
      jq === undefined ? stdout.write(text) : writeResults(await jq.run(text.split('\n').slice(0, -1)), stdout.write),
    close: async () => {},
  };
}
