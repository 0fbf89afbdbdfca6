// Asks for confirmation before a change, and refuses changes with a read-only profile. If the input
// of the command comes from stdin, the questions go to the terminal device.

import { closeSync, openSync } from 'node:fs';
import { Readable } from 'node:stream';
import { ReadStream } from 'node:tty';
import { countPresentStates, readPresent, showStateCounts } from '../api/present.js';
import { mayStartIn } from '../api/transition-rules.js';
import type { Context } from '../context.js';
import { FleetError, usageError } from '../errors.js';
import { readOnlyFailure, type Settings } from '../settings/resolve.js';
import { clean } from '../terminal/clean.js';
import { type Asking, askText, askYesNo, canAsk } from '../terminal/prompt.js';
import { type BulkChange, type BulkPlan, type Task, verbOf } from './plan.js';

/**
 * Throws a FleetError of kind `config` when the profile is read-only. Runs before fleet reads, asks
 * or writes anything. The client also refuses requests of such a profile, but only later.
 * `--dry-run` is allowed.
 */
export async function refuseIfReadOnly(
  context: Context,
  { dryRun }: { dryRun?: boolean | undefined } = {},
): Promise<void> {
  const failure = readOnlyFailure(await context.settings());
  if (failure !== undefined && dryRun !== true) throw failure;
}

/** A question names at most this many targets. */
const EXAMPLES_SHOWN = 3;

/** The verb at the start of each command's confirmation question. */
const ASKED: { readonly [command: string]: string } = { create: 'Create', edit: 'Edit' };

/**
 * Asks for confirmation when the change needs it, and names the first targets. If the change is
 * hard to undo, the user must type the number of targets, or the name of the change when there is
 * only one target. Throws a FleetError of kind `usage` when the user declines or there is no
 * terminal, and of kind `interrupted` on Ctrl-C.
 */
export async function askBefore(
  context: Context,
  { change, isStdin }: BulkPlan,
  tasks: readonly Task[],
): Promise<void> {
  const { verb, isGrave, isAlwaysAsked } = change;
  const settings = await context.settings();
  const { protected: isProtected } = settings;
  const count = tasks.length;
  context.signal.throwIfAborted();
  // With a protected profile, fleet asks before every change.
  const isAsked = isProtected.value || count > 1 || isGrave || isAlwaysAsked;
  if (count === 0 || isAsked !== true) return;
  if (count > 1 && context.io.stderr.isTerminal && context.flags.input !== false)
    await describeStates(context, change, tasks);
  const isGraveOne = isGrave && count === 1;
  const shown = tasks.slice(0, EXAMPLES_SHOWN);
  const labels = await Promise.all(
    shown.map((task) => describeTask(context, change, task, isGraveOne)),
  );
  const { message, proof } = questionOf(settings, change, labels, count);
  const instead = `add --yes to skip the question, or --dry-run to see what would be sent`;
  const isSure = await withTerminal(context, isStdin, async (asking) => {
    if (proof === undefined) return askYesNo(asking, { message, instead });
    return (await askText(asking, { message, instead })).trim() === proof;
  });
  if (!isSure) throw usageError(`nothing was sent: ${verb} was not confirmed`);
}

/** A confirmation question and the expected reply. */
export interface ChangeQuestion {
  readonly message: string;
  /** The text that the user must type, or undefined for a yes/no question. */
  readonly proof: string | undefined;
}

/**
 * Returns the confirmation question for a change of `count` targets. `labels` are the names of the
 * first targets.
 */
export function questionOf(
  { profile, baseUrl, protected: isProtected }: Settings,
  {
    resource: { one, many },
    verb,
    command,
    isGrave,
    warning,
  }: Pick<BulkChange, 'resource' | 'verb' | 'command' | 'isGrave' | 'warning'>,
  labels: readonly string[],
  count: number,
): ChangeQuestion {
  const examples = labels.join(', ') + (count > labels.length ? ', …' : '');
  const what = count === 1 ? `${one} ${examples}` : `${count} ${many} (${examples})`;
  const where = `at ${baseUrl.value?.href.replace(/\/$/, '')} (${isProtected.value ? 'protected ' : ''}profile ${profile.value})`;
  const question = clean(`${ASKED[command] ?? `Run ${verb} on`} ${what} ${where}?`);
  if (isGrave !== true) return { message: question, proof: undefined };
  const about = warning === undefined ? '' : `${warning} `;
  const typed = count === 1 ? verb : `the number of ${many}`;
  return {
    message: `${question} ${about}Type ${typed} to go on:`,
    proof: count === 1 ? verb : String(count),
  };
}

/** The maximum number of bicycles to read in parallel when a question shows their states. */
const READS_AT_ONCE = 8;

/**
 * Prints how many bicycles are in each state, and for how many of them the service would refuse the
 * transition. Prints nothing when the states cannot be read.
 */
async function describeStates(
  context: Context,
  change: BulkChange,
  tasks: readonly Task[],
): Promise<void> {
  const { resource } = change;
  if (change.command !== 'act') return;
  const unread = tasks.flatMap(({ uuid, before }) =>
    uuid === null || (before?.state ?? null) !== null ? [] : [uuid],
  );
  const client = await context.client({ retries: 0 });
  const present = await readPresent(client, resource, unread, READS_AT_ONCE).catch((error) => {
    if (context.signal.aborted || !(error instanceof FleetError)) throw error;
    return undefined;
  });
  if (present === undefined) return;
  const states = tasks.map(({ uuid, before }) => ({
    state: before?.state ?? present.get(uuid ?? '')?.state ?? null,
  }));
  await context.notice(
    `${tasks.length} ${resource.many}: ${clean(showStateCounts(countPresentStates(states)))}`,
  );
  const refused = states.filter(
    ({ state }, index) =>
      state !== null && mayStartIn(verbOf(change, tasks[index] ?? {}), state) === false,
  );
  if (refused.length > 0)
    await context.notice(
      `the service would refuse ${refused.length} of them: ${clean(showStateCounts(countPresentStates(refused)))}`,
    );
}

/**
 * Returns a task's label for a question. The label is `Ada` or, with details, `Ada (d238dc92-…;
 * available, at 52.5,13.4)`. Details that cannot be read are omitted.
 */
export async function describeTask(
  { io, signal }: Context,
  { lookAt }: BulkChange,
  { uuid, name, key }: Task,
  isDetailed = false,
): Promise<string> {
  if (uuid === null || (name && !isDetailed)) return name || key;
  const looking = io.stderr.isTerminal ? lookAt?.(uuid) : undefined;
  const found = await looking?.catch((error: unknown) => {
    if (signal.aborted || !(error instanceof FleetError)) throw error;
    return undefined;
  });
  const label = name || found?.name || uuid;
  const details = isDetailed
    ? [label === uuid ? '' : uuid, found?.detail ?? ''].filter((part) => part !== '')
    : [];
  return details.length === 0 ? label : `${label} (${details.join('; ')})`;
}

/** Asks whether to send unresolved requests again. Returns false without a terminal. */
export async function askAgain(
  context: Context,
  message: string,
  isStdinTaken: boolean,
): Promise<boolean> {
  return withTerminal(context, isStdinTaken, async (asking) => {
    return canAsk(asking) && askYesNo(asking, { message: clean(message), instead: '' });
  });
}

/**
 * Asks for confirmation when the profile is protected and `--yes` is missing. When the user
 * declines or cannot be asked, throws a FleetError of kind `usage`. No request has been sent at
 * this point.
 *
 * @param what names the change, without control characters: `POST /bicycles/`
 */
export async function askIfProtected(
  context: Context,
  what: string,
  isSure: boolean | undefined,
): Promise<void> {
  const { protected: isProtected, profile } = await context.settings();
  if (!isProtected.value || isSure === true) return;
  const { askYesNo } = await import('../terminal/prompt.js');
  const message = `${what} with the protected profile "${profile.value}"?`;
  if (await askYesNo(context, { message, instead: 'add --yes to skip the question' })) return;
  throw usageError('nothing was sent: the change was not confirmed');
}

/**
 * Asks on stdin. If the input of the command comes from stdin, asks on the terminal device, as ssh
 * and fzf do.
 */
export async function withTerminal<T>(
  context: Context,
  isStdinTaken: boolean,
  ask: (asking: Asking) => Promise<T>,
): Promise<T> {
  if (!isStdinTaken) return ask(context);
  const { io } = context;
  const terminal =
    io.stderr.isTerminal && context.flags.input !== false ? openTerminal() : undefined;
  const stdin = terminal ?? Readable.from([]);
  try {
    return await ask({ ...context, io: { ...io, stdin, streams: { ...io.streams, stdin } } });
  } finally {
    terminal?.destroy();
  }
}

function openTerminal(): ReadStream | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync('/dev/tty', 'r');
    return new ReadStream(descriptor);
  } catch {
    if (descriptor !== undefined) closeSync(descriptor);
    return undefined;
  }
}
