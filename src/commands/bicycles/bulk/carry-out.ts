// The story of every change to one bicycle or many: journal, question, run, what was in doubt, summary, exit code.

import type { Context } from '../../../context.js';
import { FleetError } from '../../../errors.js';
import type { Client } from '../../../http/client.js';
import { kindOfStatus } from '../../../http/failure.js';
import { sleep } from '../../../http/retry.js';
import type { HttpAnswer, HttpRequest } from '../../../http/types.js';
import type { Shape } from '../../../terminal/formats.js';
import { ReaderLeft } from '../../../terminal/io.js';
import type { Facts } from '../../../views/action.js';
import { type Binding, type Entry, type Journal, openJournal, peekJournal } from './journal.js';
import { readNewest } from './look-up.js';
import { askAgain, askBefore, type Change } from './question.js';
import { openReporter, type Reporter } from './report.js';
import { type Ending, FailedFast, type RunEnd, runBulk, streamOf } from './run.js';

/** What the flags of every change say. */
export interface ChangeOptions {
  yes?: boolean;
  dryRun?: boolean;
  concurrency: number;
  failFast?: boolean;
  journal?: string;
}

/** What is to be done; T is one task, R one result. */
export interface Plan<T, R extends Facts> {
  /** `retire`, `create`. */
  verb: string;
  /** A stream is acted on as it comes. */
  tasks: readonly T[] | AsyncIterable<T>;
  /** Whether the one task is all there is: then its result is the command's, and its failure the command's failure. */
  isSingle: boolean;
  shape: Shape<R>;
  keyOf(task: T): string;
  /** What the task is called in a question. */
  labelOf(task: T): string;
  requestOf(task: T): HttpRequest;
  resultOf(task: T, facts: Facts, uuid: string | null): R;
  /** Where the result stands in the output, from 1 on; undefined: in the order of their ending. */
  placeOf(task: T): number | undefined;
  /** The journal's line of identity. */
  binding: Binding;
  /** Refuses a journal whose keys do not go with the tasks, with a FleetError of kind `usage`. */
  checkJournal?(keys: Iterable<string>): void;
  /** Whether the answers are new bicycles, each with a UUID that nobody knew. */
  makesBicycles: boolean;
  /** Looks in the list for what became of tasks whose answer nobody has. `made` are the bicycles that other tasks made. */
  lookUp(client: Client, doubts: readonly Doubt<T>[], made: ReadonlySet<string>): Promise<Map<T, Finding>>;
  /** Whether a state is where the change leads; `reached` are the states that the service answered to it. */
  isReached(state: string, reached: ReadonlySet<string>): boolean;
  /** The question to ask before, when there is one for that many. */
  questionFor(count: number): Pick<Change, 'isGrave'> | undefined;
  /** Whether stdin is the input, so that questions need the terminal behind it. */
  isStdinTaken: boolean;
}

/** A task that an earlier run sent and of which no answer proves what became. */
export interface Doubt<T> {
  task: T;
  entry: Entry;
}

/** What the list tells of it. */
export type Finding =
  /** The service has not carried it out. */
  | { kind: 'untouched' }
  /** It has, as the list shows. */
  | { kind: 'done'; uuid: string | null; state: string | null }
  /** Something has happened to it since; whether it was this change is told by the state at the most. */
  | { kind: 'changed'; state: string | null };

/** How often a request of a long run is tried again after 429 or without a connection: half a minute and more in all. */
const BULK_PATIENCE = 8;

/**
 * Carries a plan out. Ends normally when everything is done; throws the failure of a single task, what stopped the run (401, 403,
 * outage, signal), or a FleetError of kind `partial`, after everything was reported and summed up.
 */
export async function carryOut<T, R extends Facts>(
  context: Context,
  plan: Plan<T, R>,
  options: ChangeOptions,
): Promise<void> {
  const client = await context.client({ signal: context.urgentSignal });
  if (options.dryRun === true) return showRequests(context, client, plan, options);
  const total = 'length' in plan.tasks ? plan.tasks.length : undefined;
  const journal =
    options.journal === undefined ? undefined : await openJournal(options.journal, plan.binding, context.now);
  try {
    plan.checkJournal?.(journal?.before.entries.keys() ?? []);
    const reporter = await openReporter<R>(context, { verb: plan.verb, shape: plan.shape, total });
    if (options.yes !== true) await askWhereNeeded(context, plan, journal);
    const newestField = plan.makesBicycles ? 'created' : 'modified';
    await journal?.begin(await readNewest(await context.client(), newestField));
    reporter.begin();
    const session = openSession({ context, plan, options, client, journal, reporter });
    const end = await session.run();
    const unwritten: unknown = await reporter.end().then(
      () => undefined,
      (error: unknown) => error,
    );
    const stoppedBy = end.stoppedBy ?? unwritten;
    await conclude({ context, plan, options, reporter, end: { ...end, stoppedBy }, lastError: session.lastError() });
  } finally {
    await journal?.close();
  }
}

/** What an earlier run says of a task: done, refused, to be sent (again), or in doubt. */
function standing(entry: Entry | undefined): 'open' | 'done' | 'refused' | 'doubt' {
  if (entry === undefined) return 'open';
  if (entry.facts === undefined) return 'doubt';
  const { outcome, status } = entry.facts;
  // The service provably did not take these (cli.md section 4, promise 1).
  if (outcome === 'not-sent' || status === 401 || status === 403 || status === 429) return 'open';
  if (outcome === 'done' || outcome === 'skipped') return 'done';
  return outcome === 'refused' ? 'refused' : 'doubt';
}

async function askWhereNeeded<T, R extends Facts>(
  context: Context,
  plan: Plan<T, R>,
  journal: Journal | undefined,
): Promise<void> {
  // The input is at hand here: a stream is acted on only with --yes.
  const tasks = 'length' in plan.tasks ? plan.tasks : [];
  const left = tasks.filter((task) => {
    const known = standing(journal?.before.entries.get(plan.keyOf(task)));
    return known === 'open' || known === 'doubt';
  });
  const { isProtected } = await context.settings();
  // "A profile can be marked protected": then every change asks, also one that else would not.
  const always = isProtected.value ? { isGrave: false } : undefined;
  const question = left.length === 0 ? undefined : (plan.questionFor(left.length) ?? always);
  if (question === undefined) return;
  const examples = left.slice(0, 3).map(plan.labelOf);
  await askBefore(context, { verb: plan.verb, count: left.length, examples, ...question }, plan.isStdinTaken);
}

/** Prints the requests that would be sent, as HTTP messages or JSON lines. */
async function showRequests<T, R extends Facts>(
  context: Context,
  client: Client,
  plan: Plan<T, R>,
  { journal }: ChangeOptions,
): Promise<void> {
  const { chooseListFormat } = await import('../../../terminal/list.js');
  const { clean } = await import('../../../terminal/clean.js');
  const format = chooseListFormat((await context.settings()).output);
  const before = journal === undefined ? undefined : await peekJournal(journal, plan.binding);
  plan.checkJournal?.(before?.entries.keys() ?? []);
  const counts = { open: 0, done: 0, refused: 0, doubt: 0 };
  for await (const task of plan.tasks) {
    const known = standing(before?.entries.get(plan.keyOf(task)));
    counts[known] += 1;
    if (known !== 'open') continue;
    const request = client.preview(plan.requestOf(task));
    const lines = [
      `${request.method} ${request.url}`,
      ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
      '',
      request.body ?? '',
      '',
    ];
    await context.io.stdout.write(
      format === 'table'
        ? `${lines.map(clean).join('\n')}\n`
        : `${JSON.stringify({ ...request, body: JSON.parse(request.body ?? 'null') })}\n`,
    );
  }
  const others = [
    ...(counts.done > 0 ? [`${counts.done} done`] : []),
    ...(counts.refused > 0 ? [`${counts.refused} refused`] : []),
    ...(counts.doubt > 0 ? [`${counts.doubt} in doubt and would be looked up first`] : []),
  ];
  const aside = others.length === 0 ? '' : `; by the journal ${others.join(', ')}`;
  await context.notice(
    `dry run: ${counts.open} ${counts.open === 1 ? 'request' : 'requests'}, nothing was sent${aside}`,
  );
}

interface SessionFacts<T, R extends Facts> {
  context: Context;
  plan: Plan<T, R>;
  options: ChangeOptions;
  client: Client;
  journal: Journal | undefined;
  reporter: Reporter<R>;
}

/** One run over all tasks, then over those that were in doubt. */
function openSession<T, R extends Facts>({ context, plan, options, client, journal, reporter }: SessionFacts<T, R>) {
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
      const known = standing(entry);
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
    if (ending.isAnnounced) await journal?.record(plan.keyOf(task), facts, plan.makesBicycles ? uuid : null);
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
      reporter.say(`${doubts.length} sent before without an answer, by the list: ${words.join(', ')}`);
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

  /** A request that was under way when its sender died may still be carried out: the list is asked when that time is over. */
  async function waitUntilSettled({ before }: Journal): Promise<void> {
    const longestMs = (await context.settings()).timeoutMs.value;
    const settleMs =
      before.slowestMs === undefined
        ? longestMs
        : Math.min(longestMs, Math.max(SETTLE_LEAST_MS, before.slowestMs * SETTLE_FACTOR));
    const restMs = Math.min(settleMs, before.lastAt + settleMs - context.now());
    if (restMs <= 0) return;
    if (restMs > SETTLE_LEAST_MS) reporter.say(`waiting ${Math.ceil(restMs / 1000)} s for requests of the earlier run`);
    await sleep(restMs, context.signal);
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

/** What the service is given, at least and in proportion to its slowest answer, to end a request whose sender died. */
const SETTLE_LEAST_MS = 1000;
const SETTLE_FACTOR = 10;

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

interface Conclusion<T, R extends Facts> {
  context: Context;
  plan: Plan<T, R>;
  options: ChangeOptions;
  reporter: Reporter<R>;
  end: RunEnd;
  lastError: FleetError | undefined;
}

/** Sums up, and throws what the exit code is to be. */
async function conclude<T, R extends Facts>(conclusion: Conclusion<T, R>): Promise<void> {
  const { context, plan, options, reporter, lastError } = conclusion;
  const { stoppedBy, isReadToItsEnd } = conclusion.end;
  const isInterrupted = stoppedBy instanceof FleetError && /^(interrupted|terminated)$/.test(stoppedBy.kind);
  const badCount = reporter.badCount();
  if (plan.isSingle) {
    if (isInterrupted && reporter.count('not-sent') > 0) throw stoppedBy;
    if (badCount > 0) throw lastError ?? stoppedBy;
    if (stoppedBy !== undefined) throw stoppedBy;
    return;
  }
  const unread = isReadToItsEnd ? '' : '; the rest of the input was not read';
  const summary = `${reporter.summary()}${unread}`;
  const wasSent = reporter.count('done') + badCount - reporter.count('not-sent') > 0;
  const isUsage = stoppedBy instanceof FleetError && stoppedBy.kind === 'usage';
  // A stop that everything was done before is none, but for a signal: who sent it wants to see it in the exit code.
  const isStopped = stoppedBy !== undefined && !(stoppedBy instanceof FailedFast);
  if (!isStopped && badCount === 0) return context.notice(summary);
  const isRefusedOnly = badCount === reporter.count('refused');
  const hint = isRefusedOnly
    ? undefined
    : options.journal === undefined
      ? 'a run with --journal FILE can be repeated, and goes on where it stopped'
      : 'the same command goes on where this one stopped';
  if (!isStopped || (stoppedBy instanceof ReaderLeft && badCount > 0) || (isUsage && wasSent)) {
    const why = stoppedBy instanceof Error && !(stoppedBy instanceof ReaderLeft) ? `${stoppedBy.message}; ` : '';
    throw new FleetError('partial', `${why}${summary}`, {
      ...(hint === undefined ? {} : { hint }),
      cause: stoppedBy,
    });
  }
  if (wasSent || reporter.count('not-sent') > 0)
    await context.notice(hint === undefined ? summary : `${summary}; ${hint}`);
  throw stoppedBy;
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
