// One run over all tasks of a plan, then over those that an earlier run left in doubt.

import { sleep } from '../../../clock.js';
import type { Context } from '../../../context.js';
import { FleetError } from '../../../errors.js';
import type { Client } from '../../../http/client.js';
import { kindOfStatus } from '../../../http/failure.js';
import type { HttpAnswer } from '../../../http/types.js';
import type { Facts } from '../../../views/action.js';
import { type Entry, type Journal, judgeEntry } from './journal.js';
import type { ChangeOptions, Doubt, Plan } from './plan.js';
import { askAgain } from './question.js';
import type { Reporter } from './report.js';
import { type Ending, type RunEnd, runBulk, streamOf } from './run.js';

/** How often a request of a long run is tried again after 429 or without a connection: half a minute and more in all. */
const BULK_PATIENCE = 8;

/** What the service is given to end a request that nobody waits for: at least, times its slowest answer, times a timeout it missed. */
const SETTLE_LEAST_MS = 1000;
const SETTLE_FACTOR = 10;
const LATE_FACTOR = 5;

export interface SessionFacts<T, R extends Facts> {
  context: Context;
  plan: Plan<T, R>;
  options: ChangeOptions;
  client: Client;
  journal: Journal | undefined;
  reporter: Reporter<R>;
}

export interface Session {
  /** Sends what is to be sent and reports every task once. Never rejects: what stopped it is in its end. */
  run(): Promise<RunEnd>;
  /** The last failure of a task. */
  lastError(): FleetError | undefined;
}

/** Opens the run over the tasks of a plan. */
export function openSession<T, R extends Facts>({
  context,
  plan,
  options,
  client,
  journal,
  reporter,
}: SessionFacts<T, R>): Session {
  const doubts: Doubt<T>[] = [];
  const reached = new Set<string>();
  const made = new Set<string>();
  let underWay = 0;
  let lastError: FleetError | undefined;
  const learn = (facts: Facts, uuid: string | null) => {
    if (facts.outcome !== 'done') return;
    if (facts.state !== null) reached.add(facts.state);
    if (plan.makesBicycles && uuid !== null) made.add(uuid);
  };
  for (const { facts, uuid } of journal?.before.entries.values() ?? []) if (facts !== undefined) learn(facts, uuid);

  const tell = (task: T, facts: Facts, uuid: string | null) =>
    reporter.take(plan.resultOf(task, facts, uuid), plan.placeOf(task));

  /** The tasks that are to be sent; what the journal knows of the others is told at once. */
  async function* openTasks(): AsyncGenerator<T, void, undefined> {
    for await (const task of plan.tasks) {
      const entry = journal?.before.entries.get(plan.keyOf(task));
      const known = judgeEntry(entry);
      if (entry === undefined || known === 'open') yield task;
      else if (entry.facts === undefined || known === 'doubt') doubts.push({ task, entry });
      else {
        // Nothing was sent now: no request took any time.
        const outcome = known === 'done' ? 'skipped' : 'refused';
        const facts: Facts = { ...entry.facts, outcome, milliseconds: null };
        if (outcome === 'refused') lastError = failureOf(facts);
        await tell(task, facts, entry.uuid);
      }
    }
  }

  async function takeEnding(task: T, ending: Ending): Promise<void> {
    if (ending.isAnnounced) underWay -= 1;
    const { facts, uuid } = factsOf(ending);
    if (ending.error !== undefined) lastError = ending.error;
    learn(facts, uuid);
    if (ending.isAnnounced) {
      await journal?.record(plan.keyOf(task), facts, plan.makesBicycles ? uuid : null, isTimeout(ending.error));
    }
    await tell(task, facts, uuid);
  }

  async function send(tasks: AsyncIterable<T>): Promise<RunEnd> {
    return runBulk({
      tasks,
      concurrency: plan.isSingle ? 1 : options.concurrency,
      patience: patienceOf((await context.settings()).retries.value, plan.isSingle),
      isFailFast: options.failFast === true,
      client,
      requestOf: plan.requestOf,
      async announce(task) {
        await journal?.announce(plan.keyOf(task));
        underWay += 1;
      },
      report: takeEnding,
      say: reporter.say,
      signal: context.signal,
      urgentSignal: context.urgentSignal,
    });
  }

  async function settleDoubts(): Promise<RunEnd> {
    if (journal === undefined || doubts.length === 0) return { stoppedBy: undefined, isReadToItsEnd: true };
    const open = new Map(doubts.map((doubt) => [doubt.task, doubt]));
    const states = new Map<T, string | null>();
    let end: RunEnd = { stoppedBy: undefined, isReadToItsEnd: true };
    const settleReached = async () => {
      for (const [task, state] of states) {
        if (!open.has(task) || state === null || !plan.isReached(state, reached)) continue;
        await settle(task, { uuid: null, state });
        open.delete(task);
      }
    };
    try {
      await waitUntilSettled(journal);
      const findings = await plan.lookUp(await context.client(), doubts, made);
      const again: T[] = [];
      for (const [task, finding] of findings) {
        if (finding.kind === 'changed') {
          states.set(task, finding.state);
          continue;
        }
        if (finding.kind === 'done') await settle(task, finding);
        else again.push(task);
        open.delete(task);
      }
      await settleReached();
      const words = [
        `${doubts.length - open.size - again.length} done`,
        `${again.length} not carried out and sent now`,
        `${open.size} changed since, or not found`,
      ];
      reporter.say(`${doubts.length} in doubt since an earlier run; by the list ${words.join(', ')}`);
      end = await send(streamOf(again));
      // An answer may have told by now where the transition leads.
      await settleReached();
      if (end.stoppedBy === undefined && open.size > 0 && (await askAgain(context, question(), plan.isStdinTaken))) {
        const asked = [...open.keys()];
        open.clear();
        end = await send(streamOf(asked));
      }
    } catch (error) {
      end = { stoppedBy: error, isReadToItsEnd: true };
    }
    for (const { task, entry } of open.values()) await leaveOpen(task, entry, states.get(task) ?? null);
    return end;

    function question(): string {
      const [first] = open.keys();
      const label = first === undefined ? '' : plan.labelOf(first);
      const state = first === undefined ? undefined : states.get(first);
      return `${open.size} may have been done before or not (${label}${state == null ? '' : ` is ${state}`}${open.size > 1 ? ', …' : ''}); ${plan.verb} them again?`;
    }
  }

  async function settle(task: T, { uuid, state }: { uuid: string | null; state: string | null }): Promise<void> {
    const message = 'no answer came, but the list shows that it was carried out';
    const facts: Facts = { outcome: 'done', status: null, state, request_id: null, milliseconds: null, message };
    await journal?.record(plan.keyOf(task), facts, uuid);
    await tell(task, facts, uuid);
  }

  function leaveOpen(task: T, { facts, uuid }: Entry, state: string | null): Promise<void> {
    const seen = state === null ? '' : `; it is ${state} now`;
    const message = `sent by an earlier run, and whether it was carried out cannot be told${seen}`;
    const known = { status: facts?.status ?? null, request_id: facts?.request_id ?? null };
    const left: Facts = { outcome: 'unknown', state, milliseconds: null, message, ...known };
    lastError = failureOf(left);
    return tell(task, left, uuid);
  }

  /**
   * A request that nobody waits for any more may still be carried out: the list is asked when that time is over. The service is given
   * as long as the run that sent it would have waited, and more where it has been seen to be slower.
   */
  async function waitUntilSettled({ before }: Journal): Promise<void> {
    // What was answered, if only with a 503, is over; a 504 is a gateway that gave up waiting.
    const isOver = ({ entry: { facts } }: Doubt<T>) => facts?.status != null && facts.status !== 504;
    const ownMs = (await context.settings()).timeoutMs.value;
    const timeouts = doubts.map((doubt) => (isOver(doubt) ? 0 : doubt.entry.run.timeoutMs || ownMs));
    const waitedMs = Math.max(SETTLE_LEAST_MS, ...timeouts);
    const isLate = doubts.some(({ entry }) => entry.isLate);
    const settleMs = Math.max(isLate ? waitedMs * LATE_FACTOR : waitedMs, (before.slowestMs ?? 0) * SETTLE_FACTOR);
    const restMs = Math.min(settleMs, before.lastAt + settleMs - context.clock.wallMs());
    if (restMs <= 0) return;
    if (restMs > SETTLE_LEAST_MS) reporter.say(`waiting ${Math.ceil(restMs / 1000)} s for requests of the earlier run`);
    await sleep(context.clock, restMs, context.signal);
  }

  async function run(): Promise<RunEnd> {
    const onSignal = () => {
      if (underWay > 0) reporter.say(`letting ${underWay} under way finish; Ctrl-C again gives them up`);
    };
    context.signal.addEventListener('abort', onSignal);
    try {
      const first = await send(openTasks());
      if (first.stoppedBy === undefined) return await settleDoubts();
      for (const { task, entry } of doubts) await leaveOpen(task, entry, null);
      return first;
    } catch (error) {
      return { stoppedBy: error, isReadToItsEnd: false };
    } finally {
      context.signal.removeEventListener('abort', onSignal);
    }
  }

  return { run, lastError: () => lastError };
}

/** Whether the answer did not come in time; the code is undici's. */
function isTimeout(error: FleetError | undefined): boolean {
  const { cause } = (error?.cause ?? {}) as { cause?: NodeJS.ErrnoException };
  return cause?.code === 'UND_ERR_HEADERS_TIMEOUT' || cause?.code === 'UND_ERR_BODY_TIMEOUT';
}

function patienceOf(retries: number, isSingle: boolean): number {
  return isSingle || retries === 0 ? retries : Math.max(retries, BULK_PATIENCE);
}

/** What is known of a task that was tried. Assumed: the answer, which the interface does not show, may be the bicycle. */
function factsOf({ outcome, answer, error, milliseconds }: Ending): { facts: Facts; uuid: string | null } {
  const { uuid, state } = readBicycle(answer);
  const facts = {
    outcome,
    status: answer?.status ?? error?.status ?? null,
    state,
    request_id: answer?.trace.requestId ?? error?.trace.requestId ?? null,
    milliseconds,
    message: outcome === 'done' ? null : (error?.message ?? null),
  };
  return { facts, uuid };
}

function readBicycle(answer: HttpAnswer | undefined): { uuid: string | null; state: string | null } {
  try {
    const body = JSON.parse(answer?.text ?? 'null') as { uuid?: unknown; state?: unknown } | null;
    const textOf = (value: unknown) => (typeof value === 'string' ? value : null);
    return { uuid: textOf(body?.uuid), state: textOf(body?.state) };
  } catch {
    return { uuid: null, state: null };
  }
}

/** The failure of a task that only the journal knows. */
function failureOf({ outcome, status, message, request_id }: Facts): FleetError {
  const kind = outcome === 'refused' && status !== null ? kindOfStatus(status) : 'network';
  return new FleetError(kind, message ?? `the journal says: ${outcome}`, {
    ...(status === null ? {} : { status }),
    ...(request_id === null ? {} : { trace: { requestId: request_id } }),
    hint: 'this is what the journal says; look at the bicycle, and send it anew without this journal',
  });
}
