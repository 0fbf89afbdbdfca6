// `fleet check --every`: checks repeatedly, prints each change of a verdict, and delivers the
// change to --exec and --post.

import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import { openDeliveries } from '../../follow/deliveries.js';
import { type Session, withSession } from '../../follow/loop.js';
import { openMessageStore } from '../../follow/message-store.js';
import type { Notification } from '../../follow/post-templates.js';
import { chooseLines } from '../../follow/print.js';
import { sleep } from '../../system/clock.js';
import { clean } from '../../terminal/clean.js';
import type { Evaluated, RuleRow } from './evaluate.js';
import type { CheckOptions } from './flags.js';
import type { Rule } from './rules.js';
import { showLimit, type Verdict } from './verdict.js';
import { openVerdictFile } from './verdict-file.js';

export interface KeepCheckingInput {
  readonly rules: readonly Rule[];
  evaluate(): Promise<Evaluated[]>;
  readonly everyMs: number;
  readonly options: CheckOptions;
}

/** The state of a rule between two checks. */
interface RuleState {
  /** The last reported verdict, or undefined before the first report. */
  reported: Verdict | undefined;
  /**
   * The verdict of the latest checks, if it differs from the reported verdict. It is reported after
   * it has lasted long enough. `sinceMs` is the time of the first check with this verdict, on the
   * monotonic clock.
   */
  pending: { verdict: Verdict; sinceMs: number } | undefined;
}

/** A reported change of a rule's verdict. */
export interface VerdictChange extends RuleRow {
  readonly before: Verdict | null;
  readonly at: string;
}

/**
 * Checks repeatedly until a signal arrives or the `--for` time is over. Throws the signal's reason.
 */
export async function keepChecking(context: Context, input: KeepCheckingInput): Promise<void> {
  const form = await chooseLines(context, 'check --every');
  const { options } = input;
  await withSession(
    context,
    { form, topics: [], for: options.for },
    async (session: Session<never>) => {
      await checkUntilEnd(context, input, session, form);
    },
  );
  if (context.signal.aborted) throw context.signal.reason;
}

async function checkUntilEnd(
  context: Context,
  { rules, evaluate, everyMs, options }: KeepCheckingInput,
  session: Session<never>,
  form: 'lines' | 'json',
): Promise<void> {
  const { clock, io } = context;
  const { signal, stderr } = session;
  const file =
    options.stateFile === undefined ? undefined : await openVerdictFile(context, options.stateFile);
  if (file !== undefined) session.atEnd(file.close);
  const deliveries = await openDeliveries(context, {
    flags: options,
    session,
    waiting: (channel) => file?.deliveries[channel] ?? openMessageStore(channel, () => {}),
    isKept: file !== undefined,
    noun: ['verdict', 'verdicts'],
  });
  session.atEnd(deliveries.finish);
  const states = new Map<string, RuleState>(
    rules.map(({ name }) => [name, { reported: file?.verdictOf(name), pending: undefined }]),
  );
  let failure: string | undefined;
  while (!signal.aborted) {
    const rows = await evaluate().then(
      (evaluated) => evaluated.map(({ row }) => row),
      (thrown) => {
        const error = asFleetError(thrown);
        if (error.kind === 'internal' || error.kind === 'usage') throw error;
        return rules.map((rule) => unreadRow(rule, error.message));
      },
    );
    if (signal.aborted) break;
    const reason = rows.every(({ verdict }) => verdict === 'unknown') ? rows[0]?.reason : undefined;
    if (reason !== undefined && reason !== null && reason !== failure)
      stderr.print(true, { event: 'unread', message: reason }, stderr.atNow(clean(reason)));
    failure = reason ?? undefined;
    for (const [index, row] of rows.entries()) {
      const rule = rules[index];
      const state = states.get(row.rule);
      if (rule === undefined || state === undefined) continue;
      const change = stepVerdict(state, row, rule.holdMs, clock.monotonicMs(), clock.wallMs());
      if (change === undefined) continue;
      await io.stdout.write(
        form === 'json' ? `${JSON.stringify(change)}\n` : lineOfChange(change, stderr.atNow),
      );
      deliveries.add(messageOfChange(change));
      file?.keep(row.rule, change.verdict);
    }
    await sleep(clock, everyMs, signal).catch(() => {});
  }
}

function unreadRow(rule: Rule, reason: string): RuleRow {
  return {
    rule: rule.name,
    found: 0,
    of: null,
    limit: showLimit(rule, undefined),
    verdict: 'unknown',
    unlocated: 0,
    reason,
  };
}

/**
 * Handles a new result of a rule. Returns a change when the new verdict has lasted for at least
 * `holdMs` and differs from the verdict that was reported last. If the first verdict is `ok`, it is
 * not a change.
 */
export function stepVerdict(
  state: RuleState,
  row: RuleRow,
  holdMs: number,
  nowMs: number,
  wallMs: number,
): VerdictChange | undefined {
  const { verdict } = row;
  if (verdict === state.reported) {
    state.pending = undefined;
    return undefined;
  }
  if (state.pending?.verdict !== verdict) state.pending = { verdict, sinceMs: nowMs };
  if (nowMs - state.pending.sinceMs < holdMs) return undefined;
  const before = state.reported ?? null;
  state.reported = verdict;
  state.pending = undefined;
  if (before === null && verdict === 'ok') return undefined;
  return { ...row, before, at: new Date(wallMs).toISOString() };
}

function lineOfChange(change: VerdictChange, atNow: (text: string) => string): string {
  const { rule, before, verdict, found, limit, reason } = change;
  const why = reason === null ? '' : `: ${reason}`;
  const from = before === null ? '' : `${before} -> `;
  return `${atNow(clean(`${rule}: ${from}${verdict} (${found} found, ${limit})${why}`))}\n`;
}

function messageOfChange(change: VerdictChange) {
  return {
    id: change.rule,
    json: JSON.stringify(change),
    notification: notificationOfChange(change),
  };
}

function notificationOfChange(change: VerdictChange): Notification {
  const { rule, before, verdict, found, limit, reason, at } = change;
  const isOpen = verdict !== 'ok';
  return {
    title: `${rule}: ${verdict}`,
    text: reason ?? '',
    isOpen,
    kind: rule,
    key: rule,
    facts: [
      ['found', String(found)],
      ['limit', limit],
      ['before', before ?? 'not checked'],
    ],
    startsAt: at,
    endsAt: isOpen ? undefined : at,
  };
}
