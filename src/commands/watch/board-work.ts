// Does the work that the board requests: lists transitions, words the question, runs the change,
// copies an ID, and prints the command that does the same.

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

/** The state of a bicycle, by its UUID. */
export type KnownBicycles = { get(uuid: string): Bicycle | undefined };

/** Only the service itself runs these transitions. */
const AUTOMATIC = /^expire_/;

/**
 * Returns the transitions that at least one of the bicycles may start, by the known rules. The
 * service decides.
 */
export function offerTransitions(
  uuids: readonly string[],
  known: KnownBicycles,
): TransitionChoice[] {
  const states = uuids.map((uuid) => textOf(known.get(uuid)?.state) ?? '');
  return TRANSITIONS.filter((name) => !AUTOMATIC.test(name)).flatMap((name) => {
    // From a state that is not in the rules, any transition may be possible.
    const allowedCount = states.filter((state) => mayStartIn(name, state) !== false).length;
    return allowedCount === 0 ? [] : [{ name, allowedCount }];
  });
}

/** The number of names in a question. */
const NAMES_SHOWN = 3;

/** Returns the question of `act` for these bicycles. It says how many of them would be refused. */
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

/** Throws when the profile does not allow changes. */
export async function refuseToAct(context: Context, isReplay: boolean): Promise<void> {
  if (isReplay)
    throw new FleetError('usage', 'a replay shows the past, so that nothing can be changed here');
  await refuseIfReadOnly(context);
}

/** The flags that lead to the same service. */
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
 * Runs the transition as `fleet bicycles act` does, with a journal in the state folder. Returns the
 * line about its result. `signal` ends the run like SIGTERM.
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
      hint: 'set XDG_STATE_HOME to a folder of this user',
    });
  const folder = join(state, 'journals');
  await makeFolder(folder, OWN_FOLDER_MODE);
  const time = new Date(clock.wallMs()).toISOString().replace(/[-:.]/g, '');
  return join(folder, `${time}-${process.pid}-${transition}.jsonl`);
}

/** The orderings of the service for each sort order of the board. */
const ORDERINGS: { readonly [sort in BoardView['sort']]: string } = {
  charge: 'state_of_charge',
  name: 'name',
  state: 'state',
  'last change': '-modified',
};

/** Returns the command that does the same as the request. */
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
 * OSC 52: asks the terminal to put a text on the clipboard. A terminal that does not support it
 * ignores it.
 */
export function copyText(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`;
}
