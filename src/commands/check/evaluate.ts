// Reads the fleet and evaluates every rule once.

import { BICYCLE, type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { mirrorOf } from '../../list/current-mirror.js';
import { readList } from '../../list/list.js';
import { isDocumented } from '../../list/where.js';
import { momentOf } from '../../system/clock.js';
import { clean } from '../../terminal/clean.js';
import { firstSegment } from '../../terminal/formats/columns.js';
import { BICYCLES } from '../../views/bicycle.js';
import { findLasting } from './lasting.js';
import type { Rule, RuleSelection } from './rules.js';
import type { CompiledSelection } from './selection.js';
import { type Count, decideVerdict, showLimit, type Verdict } from './verdict.js';

/**
 * A rule that is ready for evaluation: the names and zones in its selections have been looked up.
 */
export interface CompiledRule {
  readonly rule: Rule;
  readonly selection: CompiledSelection;
  /**
   * Selects the bicycles that count as 100 percent for `max_percent`. When undefined, all bicycles
   * of the organization together are 100 percent.
   */
  readonly of: CompiledSelection | undefined;
}

/** The result of one rule, as a row of the output (cli.md, check). */
export interface RuleRow {
  readonly rule: string;
  readonly found: number;
  /**
   * The number of bicycles that count as 100 percent for `max_percent`. Null for a rule without
   * `max_percent`.
   */
  readonly of: number | null;
  readonly limit: string;
  readonly verdict: Verdict;
  /** The number of bicycles without a position. Such bicycles could be inside the rule's area. */
  readonly unlocated: number;
  readonly reason: string | null;
}

export interface Evaluated {
  readonly row: RuleRow;
  readonly bicycles: readonly Bicycle[];
}

/** The fleet of an organization. `doubt` is the reason why it may be incomplete or out of date. */
interface Fleet {
  readonly bicycles: readonly Bicycle[];
  readonly doubt: string | undefined;
}

/**
 * Evaluates the rules. Throws when the fleet cannot be read from its source, which is the service
 * or a mirror.
 */
export async function evaluateRules(
  context: Context,
  rules: readonly CompiledRule[],
  organization: string | undefined,
): Promise<Evaluated[]> {
  const fleets = new Map<string | undefined, Fleet>();
  const fleetOf = async (uuid: string | undefined) => {
    const known = fleets.get(uuid) ?? (await readFleet(context, uuid));
    fleets.set(uuid, known);
    return known;
  };
  const evaluated: Evaluated[] = [];
  for (const compiled of rules) {
    const { selection, of } = compiled;
    const fleet = await fleetOf(selection.organization ?? organization);
    const ofFleet = await fleetOf(of?.organization ?? selection.organization ?? organization);
    evaluated.push(await evaluateRule(context, compiled, fleet, ofFleet));
  }
  return evaluated;
}

/** Reads the whole fleet of an organization, or all bicycles that the token can see. */
async function readFleet(context: Context, organization: string | undefined): Promise<Fleet> {
  const query = organization === undefined ? [] : [['organization', organization] as const];
  const request = { path: BICYCLE.listPath, query, subject: 'the list of bicycles' };
  const bicycles: Bicycle[] = [];
  const incomplete = await readList<Bicycle>(
    context,
    { shape: BICYCLES, requests: [request] },
    { count: true },
    (items) => {
      for (const { value } of items) bicycles.push(value);
    },
  );
  if (incomplete !== undefined) return { bicycles, doubt: incomplete.message };
  const status = await mirrorOf(await context.client())?.status();
  const isStale = status !== undefined && !status.isCurrent;
  return { bicycles, doubt: isStale ? 'the mirror is not current' : undefined };
}

async function evaluateRule(
  context: Context,
  { rule, selection, of }: CompiledRule,
  fleet: Fleet,
  ofFleet: Fleet,
): Promise<Evaluated> {
  refuseUnknownFields(rule.selection, rule.line, fleet.bicycles);
  if (rule.of !== undefined) refuseUnknownFields(rule.of, rule.line, ofFleet.bicycles);
  const { wallMs: nowMs } = momentOf(context.clock);
  const now = { ms: nowMs, zone: context.zone };
  const members = fleet.bicycles.map((bicycle) => ({
    bicycle,
    membership: selection.membershipOf(bicycle, now),
  }));
  let bicycles = members.flatMap(({ bicycle, membership }) =>
    membership === 'in' ? [bicycle] : [],
  );
  let unlocated = members.filter(({ membership }) => membership === 'unlocated').length;
  let doubt = fleet.doubt ?? (rule.maxPercent === undefined ? undefined : ofFleet.doubt);
  if (rule.forMs !== undefined) {
    const candidates = new Map<string, 'in' | 'unlocated'>();
    for (const { bicycle, membership } of members) {
      const uuid = bicycleUuid(bicycle);
      if (uuid !== undefined && membership !== 'out') candidates.set(uuid, membership);
    }
    const { forMs, bridgesGaps } = rule;
    const lasting = await findLasting({
      context,
      selection,
      candidates,
      forMs,
      nowMs,
      bridgesGaps,
    });
    doubt ??= lasting.doubt;
    unlocated = lasting.uncertain.size;
    bicycles = bicycles.filter((bicycle) => lasting.uuids.has(bicycleUuid(bicycle) ?? ''));
  }
  const total = rule.maxPercent === undefined ? undefined : countMembers(of, ofFleet, now);
  const selectedCount = { found: bicycles.length, uncertain: unlocated };
  const { verdict, reason } = decideVerdict(rule, { selected: selectedCount, of: total, doubt });
  return {
    bicycles,
    row: {
      rule: rule.name,
      found: bicycles.length,
      of: total?.found ?? null,
      limit: showLimit(rule, total),
      verdict,
      unlocated,
      reason,
    },
  };
}

/**
 * Refuses a field that no bicycle has, because it is probably a typo. A field that the interface
 * does not document may still exist.
 */
function refuseUnknownFields(
  { where }: RuleSelection,
  line: number,
  bicycles: readonly Bicycle[],
): void {
  if (bicycles.length === 0) return;
  for (const condition of where) {
    const field = firstSegment(condition.field);
    if (isDocumented(condition, BICYCLE)) continue;
    if (bicycles.some((bicycle) => Object.hasOwn(bicycle, field))) continue;
    throw usageError(
      `line ${line} of the rules: no bicycle has the field "${clean(field)}", which is used in "${clean(condition.text)}"`,
      'run "fleet bicycles list --columns" to list the fields',
    );
  }
}

/**
 * Returns the number of bicycles that counts as 100 percent for `max_percent`. By default, these
 * are all bicycles of the organization except retired ones.
 */
function countMembers(
  of: CompiledSelection | undefined,
  { bicycles }: Fleet,
  now: Parameters<CompiledSelection['membershipOf']>[1],
): Count {
  if (of === undefined)
    return { found: bicycles.filter(({ state }) => state !== 'retired').length, uncertain: 0 };
  const memberships = bicycles.map((bicycle) => of.membershipOf(bicycle, now));
  return {
    found: memberships.filter((membership) => membership === 'in').length,
    uncertain: memberships.filter((membership) => membership === 'unlocated').length,
  };
}
