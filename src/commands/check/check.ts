// `fleet check`: checks the fleet against the rules of a file, once or repeatedly.

import { bicycleUuid } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import { checkDeliveryFlags } from '../../follow/delivery-flags.js';
import { printReport } from '../../list/change-report.js';
import { chosenOrganization } from '../../list/organization.js';
import { count } from '../../terminal/count.js';
import type { Shape } from '../../terminal/formats.js';
import { readInput } from '../../terminal/stdin.js';
import type { Cell } from '../../terminal/table.js';
import { textOf } from '../../terminal/values.js';
import { type CompiledRule, type Evaluated, evaluateRules, type RuleRow } from './evaluate.js';
import type { CheckOptions } from './flags.js';
import { keepChecking } from './keep-checking.js';
import { parseRules, type RuleSelection } from './rules.js';
import { compileSelection, readZoneOutlines, type ZonesByUuid } from './selection.js';

const VERDICT_COLORS = { ok: 'green', violated: 'red', unknown: 'yellow' } as const;

function showVerdict({ verdict }: Pick<RuleRow, 'verdict'>): Cell {
  return { text: verdict, color: VERDICT_COLORS[verdict] };
}

/** The output table with the result of each rule. */
const RULE_ROWS: Shape<RuleRow> = {
  noun: { one: 'rule', many: 'rules' },
  fields: ['rule', 'found', 'of', 'limit', 'verdict', 'unlocated', 'reason'],
  columns: [
    { header: 'RULE', field: 'rule', keep: 6, maximum: 40 },
    { header: 'FOUND', field: 'found', keep: 5, align: 'right' },
    { header: 'LIMIT', field: 'limit', keep: 3, maximum: 30 },
    { header: 'VERDICT', field: 'verdict', keep: 7, cell: showVerdict },
    { header: 'WHY', field: 'reason', keep: 2, maximum: 60 },
  ],
};

/** A row of the output of --show: a bicycle that a violated rule selects. */
interface ViolatingRow {
  rule: string;
  uuid: string | null;
  name: string | null;
  state: string | null;
}

const VIOLATING_ROWS: Shape<ViolatingRow> = {
  noun: { one: 'bicycle', many: 'bicycles' },
  fields: ['rule', 'uuid', 'name', 'state'],
  columns: [
    { header: 'RULE', field: 'rule', keep: 3, maximum: 40 },
    { header: 'UUID', field: 'uuid', keep: 4 },
    { header: 'NAME', field: 'name', keep: 5, maximum: 24 },
    { header: 'STATE', field: 'state', keep: 2 },
  ],
};

/**
 * Checks the rules. Throws a FleetError of kind `usage` for an invalid file. When a rule is
 * violated or unknown, throws a FleetError of kind `partial` after the output.
 */
export async function checkRules(
  context: Context,
  path: string,
  options: CheckOptions,
): Promise<void> {
  checkFlags(options);
  const text = (await readInput(context, path)).toString('utf8');
  const rules = await parseRules(text, path === '-' ? 'stdin' : path);
  const organization = await chosenOrganization(context, options.organization);
  let zones: Promise<ZonesByUuid> | undefined;
  const readZones = () => {
    zones ??= readZoneOutlines(context);
    return zones;
  };
  const compiled: CompiledRule[] = [];
  for (const rule of rules) {
    const compile = (selection: RuleSelection) =>
      compileSelection(context, selection, readZones).catch((thrown: unknown) => {
        throw withLine(thrown, `line ${rule.line} of the rules`);
      });
    const selection = await compile(rule.selection);
    const of = rule.of && (await compile(rule.of));
    compiled.push({ rule, selection, of });
  }
  const evaluate = () => evaluateRules(context, compiled, organization);
  if (options.every !== undefined)
    return keepChecking(context, { rules, evaluate, everyMs: options.every, options });
  await printOnce(context, await evaluate(), options.show === true);
}

/** Adds the rule's line to the error when the service does not know a name in the rule. */
function withLine(thrown: unknown, line: string): unknown {
  if (!(thrown instanceof FleetError) || !NAME_ERRORS.includes(thrown.kind)) return thrown;
  return thrown.with({ message: `${line}: ${thrown.message}` });
}

/**
 * Errors of these kinds are caused by the file: an unknown or ambiguous name, or a zone without an
 * outline. All other errors come from the service.
 */
const NAME_ERRORS: readonly string[] = ['not-found', 'usage', 'config'];

function checkFlags(options: CheckOptions): void {
  checkDeliveryFlags(options);
  const { every, exec, post, stateFile, show } = options;
  if (every === undefined) {
    const flag =
      exec !== undefined ? '--exec' : post !== undefined ? '--post' : stateFile && '--state-file';
    if (flag !== undefined)
      throw usageError(
        `${flag} works only with --every, which reports when the result of a check changes`,
        'add --every 60s',
      );
    if (options.for !== undefined)
      throw usageError('--for works only with --every', 'add --every 60s');
  } else if (show === true)
    throw usageError('--show and --every cannot be used together', 'remove one of them');
}

async function printOnce(
  context: Context,
  evaluated: readonly Evaluated[],
  showsBicycles: boolean,
): Promise<void> {
  const { output } = await context.settings();
  const isUuid = output.origin === 'flag' && output.value === 'uuid';
  const violated = evaluated.filter(({ row }) => row.verdict === 'violated');
  const bicycles = violated.flatMap(({ row, bicycles: all }) =>
    all.map((bicycle) => ({
      rule: row.rule,
      uuid: bicycleUuid(bicycle) ?? null,
      name: textOf(bicycle.name) ?? null,
      state: textOf(bicycle.state) ?? null,
    })),
  );
  if (isUuid) await printReport(context, VIOLATING_ROWS, uniqueBicycles(bicycles));
  else if (showsBicycles) await printReport(context, VIOLATING_ROWS, bicycles);
  else
    await printReport(
      context,
      RULE_ROWS,
      evaluated.map(({ row }) => row),
    );
  const bad = evaluated.filter(({ row }) => row.verdict !== 'ok');
  if (bad.length === 0) return context.notice(`${count(evaluated.length, 'rule')} ok`);
  const unknown = bad.length - violated.length;
  const parts = [
    violated.length > 0 && `${count(violated.length, 'rule')} violated`,
    unknown > 0 && `${violated.length > 0 ? unknown : count(unknown, 'rule')} unknown`,
  ].filter((part) => part !== false);
  throw new FleetError('partial', parts.join(', '), {
    hint: showsBicycles || isUuid ? undefined : 'add --show to list the bicycles of violated rules',
  });
}

/**
 * Removes repeated bicycles. A bicycle can violate several rules, but its transition is sent only
 * once.
 */
function uniqueBicycles(rows: readonly ViolatingRow[]): ViolatingRow[] {
  return [...new Map(rows.map((row) => [row.uuid, row])).values()];
}
