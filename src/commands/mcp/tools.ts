// The tools of `fleet mcp`. Each tool runs a read-only command of fleet, with flags of that
// command.

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { z as Zod } from 'zod';
import { isUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { readExact } from '../../json/exact.js';
import { isObject } from '../../json/parse.js';
import { findStateFolder } from '../../settings/config-folder.js';
import { makeFolder, OWN_FOLDER_MODE } from '../../system/folder.js';
import { quoteForShell } from '../../system/shell-words.js';
import { PARTS } from '../report/parts.js';
import { answerError, answerWith, cutValue, fitFigures, fitRows, type ToolRow } from './answer.js';
import { errorOfLine, type LineResult, runToolLine, type ToolError } from './run-line.js';

/** The context in which a tool is called. */
interface Call {
  readonly context: Context;
  /** The server's own global flags, such as `--profile`. Every command gets them. */
  readonly globals: readonly string[];
  readonly signal: AbortSignal;
}

/** A tool with its schemas. `run` receives arguments that were validated. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Zod.ZodObject;
  readonly output: Zod.ZodObject;
  /** Whether the tool is in the toolset `plan`. The toolset `all` contains every tool. */
  readonly isForPlans: boolean;
  /** Whether the tool is in the toolset `read`. The toolset `all` contains every tool. */
  readonly isForReading: boolean;
  run(call: Call, args: Arguments): Promise<ToolAnswer>;
}

export type ToolAnswer = ReturnType<typeof answerWith> | ReturnType<typeof answerError>;

type Arguments = { readonly [name: string]: unknown };

/** The columns that a list of bicycles contains. */
const BICYCLE_COLUMNS = [
  'uuid',
  'name',
  'state',
  'state_of_charge',
  'latitude',
  'longitude',
  'latest_gps_timestamp',
  'serial_number',
  'bicycle_model_name',
  'modified',
];
const ALERT_COLUMNS = [
  'uuid',
  'alert_type',
  'state',
  'message',
  'bicycle',
  'created',
  'modified',
  'organization',
  'causality',
  'user',
];

const USUAL_ROWS = 20;
const MOST_ROWS = 200;
/** The maximum number of bicycles in a plan. A larger plan must be made on the command line. */
const MOST_PLANNED = 1_000;

/**
 * The exit code in two cases: the result is incomplete, or a rule of a check is violated or
 * unknown.
 */
const PARTIAL = 9;

/**
 * Returns all tools. `z` is the library zod. The caller passes it, because only `fleet mcp` loads
 * zod.
 */
export function makeTools(z: typeof Zod): Tool[] {
  const text = z.string().max(10_000);
  const texts = (what: string) => z.array(text).max(100).describe(what).optional();
  const state = texts(
    'States: available, reserved, in_maintenance, rented, lost, unrecoverable, retired.',
  );
  const where = texts(
    'Conditions such as "state_of_charge<20" or "latest_gps_timestamp<-2h"; all must match.',
  );
  const zone = text.describe('Name or UUID of a zone.').optional();
  const limit = z
    .number()
    .int()
    .min(1)
    .max(MOST_ROWS)
    .describe('Rows per answer; 20 by default.')
    .optional();
  const cursor = z
    .string()
    .regex(/^\d{1,9}$/)
    .describe('The cursor of the last answer.')
    .optional();
  const bicycle = text.min(1).describe('UUID, exact name, serial number or bleid of a bicycle.');
  const row = z.record(z.string(), z.unknown());
  const rows = z.object({
    total: z.number().nullable(),
    shown: z.number(),
    more: z.number().nullable(),
    cursor: z.string().nullable(),
    rows: z.array(row),
  });
  const list = { isForReading: true, isForPlans: true } as const;
  const reading = { isForReading: true, isForPlans: false } as const;
  return [
    {
      ...reading,
      name: 'stats',
      title: 'Count bicycles',
      description:
        'Counts bicycles by state, charge and other groups. Use it first for questions such as "how many".',
      input: z.strictObject({
        by: texts('Groups, such as state, charge, model.'),
        state,
        where,
        zone,
      }),
      output: z.object({ groups: z.array(row), left_out: z.array(z.string()).optional() }),
      async run(call, args) {
        const flags = [...many('--by', args['by']), ...filtersOf(args)];
        return runObject(call, ['bicycles', 'stats', ...flags], (groups) => ({ groups }));
      },
    },
    {
      ...list,
      name: 'list_bicycles',
      title: 'List bicycles',
      description:
        'Lists bicycles with ten columns, filtered by state, conditions or zone. The answer has the total first; pass its cursor to continue.',
      input: z.strictObject({ state, where, zone, limit, cursor }),
      output: rows,
      run: (call, args) =>
        runList(call, ['bicycles', 'list', ...filtersOf(args)], BICYCLE_COLUMNS, args),
    },
    {
      ...list,
      name: 'get_bicycle',
      title: 'Show one bicycle',
      description: 'Returns every field of one bicycle.',
      input: z.strictObject({ bicycle }),
      output: row as unknown as Zod.ZodObject,
      run: (call, args) =>
        runObject(call, ['bicycles', 'get', '--', String(args['bicycle'])], (value) => value),
    },
    {
      ...reading,
      name: 'bicycle_history',
      title: 'Show what happened to a bicycle',
      description: 'Returns the transitions and changes of one bicycle, oldest first.',
      input: z.strictObject({
        bicycle,
        since: text.describe('A time or an age, such as 2h, yesterday, 2026-11-23.').optional(),
        limit,
        cursor,
      }),
      output: rows,
      run: (call, args) =>
        runWhole(
          call,
          [
            ...['bicycles', 'history', ...one('--since', args['since'])],
            ...['--', String(args['bicycle'])],
          ],
          args,
        ),
    },
    {
      ...reading,
      name: 'list_alerts',
      title: 'List alerts',
      description: 'Lists alerts, newest first, filtered by type, state or bicycle.',
      input: z.strictObject({
        type: texts('Types such as lock.bat.low.'),
        state: texts('States: new, resolved, escalated, stopped, silenced.'),
        bicycle: bicycle.optional(),
        limit,
        cursor,
      }),
      output: rows,
      run: (call, args) => {
        const flags = [
          ...many('--type', args['type']),
          ...many('--state', args['state']),
          ...one('--bicycle', args['bicycle']),
        ];
        return runList(call, ['alerts', 'list', ...flags], ALERT_COLUMNS, args);
      },
    },
    {
      ...reading,
      name: 'check',
      title: 'Check rules',
      description:
        'Checks the fleet against rules in the form of a rules file: name, a selection (state, where, zone, near and radius) and a limit (min, max, max_percent, for). The verdict is ok, violated or unknown.',
      input: z.strictObject({ rules: z.array(row).min(1).max(100) }),
      output: z.object({ rules: z.array(row), left_out: z.array(z.string()).optional() }),
      run: (call, args) =>
        runObject(call, ['check', '-'], (found) => ({ rules: found }), {
          stdin: JSON.stringify({ rules: args['rules'] }),
          accepts: PARTIAL,
        }),
    },
    {
      ...reading,
      name: 'report',
      title: 'Report figures',
      description:
        'Returns figures of a period from the mirror, beside those of the period before: fleet size, time in states, rentals, alerts, and the bicycles that were idle longest. A figure with certain false is uncertain, and null cannot be known. Only for profiles with a mirror.',
      input: z.strictObject({
        since: text.describe('Start of the period, such as 7d, monday, 2026-11-23.').optional(),
        by: z.enum(PARTS).describe('Also the figures of each part.').optional(),
      }),
      output: z.object({
        period: row.optional(),
        coverage: z.number().optional(),
        by: z.string().nullable().optional(),
        figures: z.array(row).optional(),
        idle: z.array(row).optional(),
        left_out: z.array(z.string()).optional(),
      }),
      run: (call, args) =>
        runObject(
          call,
          ['report', ...one('--since', args['since']), ...one('--by', args['by'])],
          fitFigures,
        ),
    },
    {
      ...reading,
      name: 'query_mirror',
      title: 'Query the mirror',
      description:
        'Runs one SQL query on the mirror, which has the tables bicycles, alerts, changes, rentals, state_durations and gaps. Only for profiles with a mirror.',
      input: z.strictObject({ sql: text.min(1), limit, cursor }),
      output: rows,
      run: (call, args) => runWhole(call, ['mirror', 'query', '--', String(args['sql'])], args),
    },
    {
      isForReading: false,
      isForPlans: true,
      name: 'plan_change',
      title: 'Plan a change',
      description:
        'Writes a plan of a change and sends nothing. Returns its path, a summary, and the command line with which a person carries it out.',
      input: z.strictObject({
        command: z.enum(['act', 'edit']).describe('act: a transition; edit: new values of fields.'),
        bicycles: z.array(bicycle).min(1).max(MOST_PLANNED),
        transition: text
          .describe('For act: put_in_maintenance, declare_available, declare_lost, …')
          .optional(),
        fields: z
          .record(z.string(), z.unknown())
          .describe('For edit: fields and their new values.')
          .optional(),
      }),
      output: z.object({ path: z.string(), summary: z.string(), apply: z.string() }),
      run: planChange,
    },
  ];
}

/** Joins a flag and its value into one word, so that the value cannot be parsed as another flag. */
function one(flag: string, value: unknown): string[] {
  return value === undefined ? [] : [`${flag}=${String(value)}`];
}

function many(flag: string, values: unknown): string[] {
  return Array.isArray(values) ? values.flatMap((value) => one(flag, value)) : [];
}

function filtersOf({ state, where, zone }: Arguments): string[] {
  return [...many('--state', state), ...many('--where', where), ...one('--zone', zone)];
}

/** Runs a command line. Throws a FailedLine when the command fails. */
async function runOrThrow(
  { context, globals, signal }: Call,
  words: readonly string[],
  { stdin, accepts }: { stdin?: string; accepts?: number } = {},
): Promise<LineResult> {
  // Global flags must come before `--`. Every word after `--` is treated as an operand.
  const [noun = '', ...rest] = words;
  const argv = [noun, ...globals, '--json', '--no-input', ...rest];
  const result = await runToolLine(context, argv, {
    signal,
    ...(stdin === undefined ? {} : { stdin }),
  });
  if (result.code !== 0 && result.code !== accepts) throw new FailedLine(errorOfLine(result));
  return result;
}

/** The error of a failed command line. */
class FailedLine extends Error {
  constructor(readonly failure: ToolError) {
    super(failure.message);
  }
}

/** Returns the answer for a failed command line. Rethrows all other errors. */
export function answerThrown(thrown: unknown): ToolAnswer {
  if (thrown instanceof FailedLine) return answerError(thrown.failure);
  throw thrown;
}

/** Runs a command that prints one JSON value. */
async function runObject(
  call: Call,
  words: readonly string[],
  shape: (value: unknown) => unknown,
  more: { stdin?: string; accepts?: number } = {},
): Promise<ToolAnswer> {
  const { stdout } = await runOrThrow(call, words, more);
  const value = cutValue(shape(readExact(stdout)));
  return answerWith(isObject(value) ? value : { value });
}

/** Runs a list command, and returns the rows after the cursor and the total number of rows. */
async function runList(
  call: Call,
  words: readonly string[],
  columns: readonly string[],
  args: Arguments,
): Promise<ToolAnswer> {
  const { offset, limit } = pageOf(args);
  const most = offset + limit + 1;
  const { stdout } = await runOrThrow(call, [...words, '--all', `--limit=${most}`]);
  const all = rowsOf(stdout).map((row) => pickColumns(row, columns));
  const total = all.length < most ? all.length : await countRows(call, words);
  const hasMore = all.length > offset + limit;
  return answerWith(fitRows(all.slice(offset, offset + limit), { total, offset, hasMore }));
}

function pickColumns(row: ToolRow, columns: readonly string[]): ToolRow {
  return Object.fromEntries(columns.map((column) => [column, row[column] ?? null]));
}

async function countRows(call: Call, words: readonly string[]): Promise<number | null> {
  const { stdout } = await runOrThrow(call, [...words, '--count']);
  const value = readExact(stdout);
  const count = isObject(value) ? Number(value['count']) : Number(value);
  return Number.isFinite(count) ? count : null;
}

/** Runs a command that prints all rows. Returns the part of the rows that starts at the cursor. */
async function runWhole(
  call: Call,
  words: readonly string[],
  args: Arguments,
): Promise<ToolAnswer> {
  const { offset, limit } = pageOf(args);
  const { stdout } = await runOrThrow(call, words);
  const all = rowsOf(stdout);
  const hasMore = all.length > offset + limit;
  const rows = all.slice(offset, offset + limit);
  return answerWith(fitRows(rows, { total: all.length, offset, hasMore }));
}

function pageOf({ cursor, limit }: Arguments): { offset: number; limit: number } {
  return {
    offset: cursor === undefined ? 0 : Number(cursor),
    limit: typeof limit === 'number' ? limit : USUAL_ROWS,
  };
}

/** Parses a JSON array or JSON lines. */
function rowsOf(stdout: string): ToolRow[] {
  const text = stdout.trim();
  if (text === '') return [];
  const values = text.startsWith('[')
    ? readExact(text)
    : text.split('\n').map((line) => readExact(line));
  return Array.isArray(values) ? values.filter(isObject) : [];
}

/** Writes a plan file into the state folder. */
async function planChange(call: Call, args: Arguments): Promise<ToolAnswer> {
  const { context, globals } = call;
  const settings = await context.settings();
  if (settings.readOnly.value)
    return answerError({
      kind: 'config',
      message: 'this profile is read-only, so no change can be planned',
      hint: 'use another profile for changes',
      exit_code: 3,
      request_id: null,
    });
  const folder = findStateFolder(context.io.env);
  if (folder === undefined)
    return answerError({
      kind: 'config',
      message: 'no folder was found for plans',
      hint: 'set XDG_STATE_HOME to a folder that you own',
      exit_code: 3,
      request_id: null,
    });
  const plans = join(folder, 'plans');
  await makeFolder(plans, OWN_FOLDER_MODE);
  const path = join(plans, `${randomBytes(6).toString('hex')}.plan`);
  const { command, bicycles, transition, fields } = args;
  const names = Array.isArray(bicycles) ? bicycles.map(String) : [];
  const isAct = command === 'act';
  if (isAct ? typeof transition !== 'string' : !isObject(fields))
    return answerError({
      kind: 'usage',
      message: isAct ? 'act needs a transition' : 'edit needs fields',
      hint: null,
      exit_code: 2,
      request_id: null,
    });
  if (!isAct && isObject(fields)) {
    const reason = findRefusedField(fields);
    if (reason !== undefined)
      return answerError({
        kind: 'usage',
        message: reason,
        hint: null,
        exit_code: 2,
        request_id: null,
      });
  }
  const uuids = await findUuids(call, names);
  const accepted = { accepts: PARTIAL };
  const result = isAct
    ? await runOrThrow(
        call,
        ['bicycles', 'act', `--plan=${path}`, '--', ...uuids, String(transition)],
        accepted,
      )
    : await runOrThrow(call, ['bicycles', 'edit', `--plan=${path}`, '--', '-'], {
        stdin: uuids.map((uuid) => `${JSON.stringify({ ...Object(fields), uuid })}\n`).join(''),
        ...accepted,
      });
  // The command can fail for some bicycles and still write a plan without them, because the service
  // does not show these bicycles. Only a missing plan file is treated as a failure.
  if (!existsSync(path)) throw new FailedLine(errorOfLine(result));
  const missing = result.code === PARTIAL ? [errorOfLine(result).message] : [];
  const apply = ['fleet', ...globals, 'apply', path].map((word) => quoteForShell(word)).join(' ');
  return answerWith({ path, summary: [summaryOf(result), ...missing].join('; '), apply });
}

/**
 * Returns the reason why a plan with the new values is impossible. Returns undefined when a plan is
 * possible.
 */
function findRefusedField(fields: { readonly [field: string]: unknown }): string | undefined {
  for (const [field, value] of Object.entries(fields)) {
    if (field.toLowerCase() === 'uuid') return 'the field "uuid" of a bicycle cannot be changed';
    // MCP reads numbers as doubles, which lose digits of large integers.
    if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
      return `the number in "${field}" has too many digits: write it as a text`;
  }
  return undefined;
}

/**
 * Finds the UUIDs of bicycles by the same rules as the command line. `edit` needs this step,
 * because its input rows accept only exact names and UUIDs.
 */
async function findUuids(call: Call, bicycles: readonly string[]): Promise<string[]> {
  const uuids = new Set<string>();
  for (const bicycle of bicycles) {
    if (isUuid(bicycle)) {
      uuids.add(bicycle.toLowerCase());
      continue;
    }
    const { stdout } = await runOrThrow(call, ['bicycles', 'get', '--', bicycle]);
    const found = readExact(stdout);
    uuids.add(String(isObject(found) ? found['uuid'] : ''));
  }
  return [...uuids];
}

/** Returns the notice about the plan that `--plan` printed. */
function summaryOf({ stderr }: LineResult): string {
  const notices = stderr
    .trim()
    .split('\n')
    .flatMap((line) => {
      const value = line.startsWith('{') ? readExact(line) : undefined;
      return isObject(value) && typeof value['notice'] === 'string' ? [value['notice']] : [];
    });
  return notices.find((notice) => /\bplan/.test(notice)) ?? 'the plan was written';
}
