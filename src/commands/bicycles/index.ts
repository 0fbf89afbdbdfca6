// Declares `fleet bicycles`: its verbs, their flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { BICYCLE_FIELDS, NEW_BICYCLE_FIELDS } from '../../api/bicycle.js';
import { TRANSITION_MEANINGS, TRANSITIONS } from '../../api/transitions.js';
import { addActFlags } from '../../bulk/flags.js';
import {
  anyText,
  BICYCLES,
  type CompletionPoint,
  collectWith,
  NOTHING,
  type Offers,
  offerColumns,
} from '../../cli/completions.js';
import { addVerb } from '../../cli/examples.js';
import { showPairs } from '../../cli/help.js';
import type { Run } from '../../context.js';
import { OFFLINE, readTo, TO } from '../../list/mirror-flags.js';
import {
  addBicycleListFlags,
  addCreateFlags,
  addEditFlags,
  addHistoryFlags,
  addStatsFlags,
} from './flags.js';
import { BICYCLE_ARGUMENT } from './methods-and-groups.js';

/**
 * Declares the verbs. `verb` is the word after `bicycles` on the command line. When `verb` is
 * known, only this verb is declared.
 */
export function addBicycles(program: Command, run: Run, verb = ''): void {
  const bicycles = addVerb(
    program,
    ['bicycles', 'list, create and act on bicycles', 'List, create and act on bicycles.'],
    ['list one page', 'fleet bicycles list'],
    ['rent a bicycle', 'fleet bicycles act d238dc92-4ed5-4cec-a476-fe5f869ff26e rent'],
  ).aliases(['bicycle', 'bikes', 'bike']);
  const verbs = {
    list: addList,
    get: addGet,
    history: addHistory,
    stats: addStats,
    edit: addEdit,
    create: addCreate,
    act: addAct,
  };
  const typed = Object.entries(verbs).filter(([name]) => name === verb);
  for (const [, add] of typed.length > 0 ? typed : Object.entries(verbs)) add(bicycles, run);
}

function addList(bicycles: Command, run: Run): void {
  const list = addVerb(
    bicycles,
    ['list', 'list bicycles', 'List bicycles: one page unless --limit or --all is given.'],
    ['the twenty with the lowest charge', 'fleet bicycles list --ordering state_of_charge'],
    [
      'the five nearest to Alexanderplatz',
      'fleet bicycles list --near 52.5219,13.4132 --radius 800 --limit 5',
    ],
    [
      'silent for two hours',
      "fleet bicycles list --all --where 'latest_gps_timestamp<-2h' --columns name,uuid",
    ],
    [
      'low batteries, filtered with jq',
      "fleet bicycles list --all --jq '.[] | select(.state_of_charge < 20) | .uuid'",
    ],
    ['lost or unrecoverable', 'fleet bicycles list --state lost,unrecoverable --all'],
    ['count all bicycles', 'fleet bicycles list --count'],
  );
  addBicycleListFlags(list).action(run(async () => (await import('./list.js')).listBicycles));
}

function addGet(bicycles: Command, run: Run): void {
  const get = addVerb(
    bicycles,
    [
      'get',
      'show one bicycle',
      'Show one bicycle: every field, and on a terminal its newest alerts.',
    ],
    ['by ID, as tables show it', 'fleet bicycles get d238dc92'],
    ['by name', 'fleet bicycles get "Emmy 0001"'],
    ['print only its state', 'fleet bicycles get d238dc92-4ed5-4cec-a476-fe5f869ff26e --jq .state'],
  )
    .argument('<bicycle>', BICYCLE_ARGUMENT, anyText(BICYCLES))
    .option(...OFFLINE)
    .option(...TO, readTo)
    .action(run(async () => (await import('./get.js')).getBicycle));
  offerColumns(get, BICYCLE_FIELDS);
}

function addHistory(bicycles: Command, run: Run): void {
  const history = addVerb(
    bicycles,
    [
      'history',
      'show what happened to one bicycle',
      `Show the transitions that the service lists of one bicycle, and the changes that a mirror recorded, by time, each
with its source. The mirror also shows the gaps, when it recorded nothing.`,
    ],
    ['what happened to it', 'fleet bicycles history d238dc92'],
    [
      'its states of the last week, as CSV',
      'fleet bicycles history "Emmy 0001" --since 7d --field state -o csv',
    ],
  ).argument('<bicycle>', BICYCLE_ARGUMENT, anyText(BICYCLES));
  addHistoryFlags(history).action(run(async () => (await import('./history.js')).showHistory));
}

function addStats(bicycles: Command, run: Run): void {
  const stats = addVerb(
    bicycles,
    [
      'stats',
      'count bicycles by state, charge, silence or any field',
      `Count the whole fleet, or what the filters match: by state, charge, silence and open alerts.
A terminal shows bars; every other format has group, value, count and percent.
--by hour, day and week count rentals, returns, changes of state and alerts over time. They come from the mirror.`,
    ],
    ['the fleet at a glance', 'fleet bicycles stats'],
    ['lost bicycles by model', 'fleet bicycles stats --by model --state lost'],
    ['states as CSV', 'fleet bicycles stats --by state -o csv'],
    ['rentals of each day, as a page', 'fleet bicycles stats --by day --since 7d --file week.html'],
  );
  addStatsFlags(stats).action(run(async () => (await import('./stats.js')).showStats));
}

function addEdit(bicycles: Command, run: Run): void {
  const edit = addVerb(
    bicycles,
    [
      'edit',
      'change fields of bicycles, or of many from a file',
      `Change fields of one bicycle, or the same fields of several. Shows "old -> new" for each, and asks on a terminal. Links take a URL, a UUID or a name,
and null clears a field. PUT sends every writable field, PATCH only the changes; the default is the one that the service supports.
The version that was read is sent too, so that the edit of somebody else is not overwritten.
With "-" they come from stdin: CSV with a header, .xlsx, a JSON array or JSON lines. A column uuid, serial_number, bleid or name (the first
of them that is filled in) names the bicycle, the others are its fields. An empty cell changes nothing.`,
    ],
    [
      'preview a new name',
      'fleet bicycles edit d238dc92-4ed5-4cec-a476-fe5f869ff26e --name "Ada 0042" --dry-run',
    ],
    [
      'preview the changes of a table, also from .xlsx',
      "printf 'name,note\\nEmmy 0001,basket repaired\\n' | fleet bicycles edit - --dry-run",
    ],
  ).argument('[bicycle...]', `${BICYCLE_ARGUMENT}; - for stdin`, collectWith(BICYCLES));
  addEditFlags(edit).action(run(async () => (await import('./edit.js')).editBicycles));
}

function addCreate(bicycles: Command, run: Run): void {
  const create = addVerb(
    bicycles,
    [
      'create',
      'create a bicycle, or many from a file',
      `Create a bicycle from flags, or many with --from. Links take a URL, a UUID or a name.
A file is CSV with a header, .xlsx, a JSON array or JSON lines, with the fields ${NEW_BICYCLE_FIELDS.join(', ')}.
The whole file is checked before the first request.`,
    ],
    ['in the organization from the settings', 'fleet bicycles create --name "Ada 0042"'],
    [
      'with a serial number; print only the new UUID',
      'fleet bicycles create --name "Ada 0043" --serial-number WTU-0043 -o uuid',
    ],
    [
      'from CSV on stdin; after a crash the same command resumes',
      `printf 'name\\nAda 44\\nAda 45\\n' | fleet bicycles create --from - --yes --journal new.journal -o uuid`,
    ],
  );
  addCreateFlags(create).action(run(async () => (await import('./create.js')).createBicycles));
}

function addAct(bicycles: Command, run: Run): void {
  const act = addVerb(
    bicycles,
    [
      'act',
      'run a transition on bicycles',
      [
        'Run a transition such as rent, take_over or retire on one bicycle or many. A bicycle is a UUID, its first digits, or a',
        'part of its name, serial number or bleid; without a terminal, the exact name or --yes. With "-" they come from stdin: one UUID per line, JSON lines, a JSON array, or CSV or .xlsx',
        'with a column uuid, name, serial_number or bleid. Each request is sent at most once. When no answer is certain, the outcome is "unknown", and the request',
        'is not sent again unless --unknown says so. Ctrl-C gives requests in flight a second.',
        '',
        'Transitions:',
        showPairs(TRANSITIONS.map((name) => [name, TRANSITION_MEANINGS[name]])),
      ].join('\n'),
    ],
    ['rent a bicycle', 'fleet bicycles act d238dc92-4ed5-4cec-a476-fe5f869ff26e rent'],
    [
      'retire one without a question',
      'fleet bicycles act 3cbf2500-27cf-4651-a3e0-130b9c9b2b9d retire --yes',
    ],
    [
      'act on thousands; after a crash the same command resumes',
      'fleet bicycles list --all --state available -o jsonl | fleet bicycles act - reserve --yes --journal j.jsonl',
    ],
  )
    .usage('<bicycle>... <transition>')
    .argument(
      '<bicycle...>',
      'the bicycles, or - for stdin, then the transition',
      collectWith(offerAction),
    );
  addActFlags(act, {
    many: 'bicycles',
    yes: 'do not ask before retire, declare_unrecoverable and changes to more than one',
    unknown: 'send a transition that is not in the list above',
  }).action(run(async () => (await import('./act.js')).actOnBicycles));
}

/**
 * Completes `act`: offers bicycles for the first operand, then transitions. Offers further bicycles
 * when the typed text contains digits or is not the start of a transition.
 */
async function offerAction(place: CompletionPoint): Promise<Offers> {
  const { operands, typed, from } = place;
  const isTransition = (word: string) => (TRANSITIONS as readonly string[]).includes(word);
  if (operands.some(isTransition)) return NOTHING;
  const words = TRANSITIONS.filter((name) => name.startsWith(typed));
  const isDigits = /^[0-9a-f]*[0-9][0-9a-f-]*$/i.test(typed);
  if (operands.length > 0 && !isDigits && words.length > 0)
    return { words: words.map((value) => ({ value, description: TRANSITION_MEANINGS[value] })) };
  const offers = await from.bicycles(typed);
  return { ...offers, words: offers.words.filter(({ value }) => !operands.includes(value)) };
}
