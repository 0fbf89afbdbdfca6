// Runs the actions of the board: lists the transitions of a bicycle, words the confirmation, sends
// the change, copies an ID, and prints the equivalent command.

import { join } from 'node:path';
import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { GRAVE_TRANSITIONS, mayStartIn } from '../../api/transition-rules.js';
import { TRANSITIONS } from '../../api/transitions.js';
import { questionOf, refuseIfReadOnly } from '../../bulk/question.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { findStateFolder } from '../../settings/config-folder.js';
import { makeFolder, OWN_FOLDER_MODE } from '../../system/folder.js';
import { quoteForShell } from '../../system/shell-words.js';
import { count } from '../../terminal/count.js';
import { textOf } from '../../terminal/values.js';
import type { BoardView } from '../../views/board.js';
import type { BoardDialog, TransitionChoice } from '../../views/board-dialog.js';
import { TRANSITION_WARNINGS } from '../bicycles/transition-warnings.js';
import { errorOfLine, runToolLine } from '../mcp/run-line.js';
import type { BoardRequest } from './board-actions.js';

/** Returns a known bicycle by its UUID. */
export type KnownBicycles = { get(uuid: string): Bicycle | undefined };

/** Matches transitions that only the service itself starts. */
const AUTOMATIC = /^expire_/;

/**
 * Returns the transitions that are allowed for at least one of the bicycles, according to the known
 * rules. The service may still refuse them.
 */
export function offerTransitions(
  uuids: readonly string[],
  known: KnownBicycles,
): TransitionChoice[] {
  const states = uuids.map((uuid) => textOf(known.get(uuid)?.state) ?? '');
  return TRANSITIONS.filter((name) => !AUTOMATIC.test(name)).flatMap((name) => {
    // When a bicycle's state is not in the rules, every transition is offered for it.
    const allowedCount = states.filter((state) => mayStartIn(name, state) !== false).length;
    return allowedCount === 0 ? [] : [{ name, allowedCount }];
  });
}

/** The maximum number of names in a question. */
const NAMES_SHOWN = 3;

/**
 * Returns the question before a transition of these bicycles. The question states for how many
 * bicycles the service would probably refuse the transition.
 */
export async function wordQuestion(
  context: Context,
  { uuids, transition }: { uuids: readonly string[]; transition: string },
  known: KnownBicycles,
): Promise<BoardDialog> {
  const settings = await context.settings();
  const isGrave = GRAVE_TRANSITIONS.includes(transition);
  const labels = uuids.slice(0, NAMES_SHOWN).map((uuid) => {
    const { name, state } = known.get(uuid) ?? {};
    const label = textOf(name) || uuid;
    return isGrave && uuids.length === 1 ? `${label} (${uuid}; ${textOf(state) ?? ''})` : label;
  });
  const change = {
    resource: BICYCLE,
    verb: transition,
    command: 'act' as const,
    isGrave,
    warning: TRANSITION_WARNINGS[transition],
  };
  const { message, proof } = questionOf(settings, change, labels, uuids.length);
  const refusedCount = uuids.filter(
    (uuid) => mayStartIn(transition, textOf(known.get(uuid)?.state) ?? '') === false,
  ).length;
  const refused =
    refusedCount === 0
      ? ''
      : `The service would refuse ${refusedCount} of ${count(uuids.length, 'bicycle')}. `;
  return { type: 'ask', uuids, transition, question: `${refused}${message}`, proof, typed: '' };
}

/** Throws when the profile is read-only or the board shows a replay. */
export async function refuseToAct(context: Context, isReplay: boolean): Promise<void> {
  if (isReplay)
    throw new FleetError('usage', 'a replay shows the past, so nothing can be changed here');
  await refuseIfReadOnly(context);
}

/** Returns the global flags that the equivalent command needs to use the same service. */
function serviceFlags({ flags }: Context): string[] {
  const given: readonly (readonly [string, string | number | undefined])[] = [
    ['--profile', flags.profile],
    ['--base-url', flags.baseUrl],
    ['--api-version', flags.apiVersion],
    ['--timeout', flags.timeout],
    ['--deadline', flags.deadline],
  ];
  return given.flatMap(([flag, value]) => (value === undefined ? [] : [`${flag}=${value}`]));
}

/**
 * Runs the transition in the same way as `fleet bicycles act`, with a journal in the state folder.
 * Returns a line that describes the result. When `signal` is aborted, the run ends as after
 * SIGTERM.
 */
export async function actFromBoard(
  context: Context,
  { uuids, transition }: { uuids: readonly string[]; transition: string },
  signal: AbortSignal,
): Promise<string> {
  const journal = await newJournal(context, transition);
  const flags = ['--yes', `--journal=${journal}`, '--json', '--no-input'];
  const argv = ['bicycles', 'act', ...serviceFlags(context), ...flags, '--', ...uuids, transition];
  const result = await runToolLine(context, argv, { signal, onlyReads: false });
  if (result.code === 0) return `✓ ${transition} on ${count(uuids.length, 'bicycle')}: done`;
  const { message } = errorOfLine(result);
  return `! ${transition}: ${message} (fleet journal show ${quoteForShell(journal)})`;
}

/** Returns the path of a new journal. */
async function newJournal({ io, clock }: Context, transition: string): Promise<string> {
  const state = findStateFolder(io.env);
  if (state === undefined)
    throw new FleetError('config', 'no folder was found for the journal, so nothing was sent', {
      hint: 'set XDG_STATE_HOME to a folder that you own',
    });
  const folder = join(state, 'journals');
  await makeFolder(folder, OWN_FOLDER_MODE);
  const time = new Date(clock.wallMs()).toISOString().replace(/[-:.]/g, '');
  return join(folder, `${time}-${process.pid}-${transition}.jsonl`);
}

/** The ordering to request from the service for each sort order of the board. */
const ORDERINGS: { readonly [sort in BoardView['sort']]: string } = {
  charge: 'state_of_charge',
  name: 'name',
  state: 'state',
  'last change': '-modified',
};

/** Returns the fleet command that has the same effect as the request. */
export function commandFor(
  context: Context,
  request: Extract<BoardRequest, { type: `show-${string}` }>,
  view: BoardView,
): string {
  const words = wordsFor(request, view);
  return ['fleet', ...words, ...serviceFlags(context)].map((word) => quoteForShell(word)).join(' ');
}

function wordsFor(
  request: Extract<BoardRequest, { type: `show-${string}` }>,
  { sort, filter }: BoardView,
): string[] {
  if (request.type === 'show-act') return ['bicycles', 'act', ...request.uuids, request.transition];
  if (request.type === 'show-get') return ['bicycles', 'get', request.uuid];
  const filters = filter
    .split(/\s+/)
    .filter((word) => word !== '')
    .flatMap((word) => (/[=<>~]/.test(word) ? ['--where', word] : ['--name', word]));
  return ['bicycles', 'list', '--all', '--ordering', ORDERINGS[sort], ...filters];
}

/**
 * Returns an OSC 52 sequence, which asks the terminal to copy text to the clipboard. A terminal
 * without support ignores it.
 */
export function copyText(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`;
}
