// Decides the verdict of a rule from counts. No I/O.

import type { Rule } from './rules.js';

export type Verdict = 'ok' | 'violated' | 'unknown';

/** The number of bicycles that are selected, and the number that may be selected as well. */
export interface Count {
  /** Selected for certain. */
  readonly found: number;
  /** Bicycles that may be selected as well: they have no position, or their past is not known. */
  readonly uncertain: number;
}

export interface RuleInput {
  readonly selected: Count;
  /** The number of bicycles to which `max_percent` refers. */
  readonly of: Count | undefined;
  /** Why the data cannot prove `ok`: the list is incomplete, or the mirror is not current. */
  readonly doubt: string | undefined;
}

export interface RuleResult {
  readonly verdict: Verdict;
  readonly reason: string | null;
}

/**
 * Returns the verdict. It is `ok` or `violated` only when every possible number of bicycles leads
 * to this verdict. It is never `ok` when the data may be incomplete.
 */
export function decideVerdict(rule: Rule, input: RuleInput): RuleResult {
  const { selected, of, doubt } = input;
  if (doubt !== undefined) return { verdict: 'unknown', reason: doubt };
  if (rule.maxPercent !== undefined && of !== undefined && of.found === 0)
    return { verdict: 'unknown', reason: whyNoShare(of) };
  const verdicts = new Set<Verdict>();
  for (const found of numbersToTry(rule, selected)) {
    for (const total of totalsOf(of))
      verdicts.add(isWithin(rule, found, total) ? 'ok' : 'violated');
  }
  if (verdicts.size > 1) {
    const uncertain = selected.uncertain + (of?.uncertain ?? 0);
    return {
      verdict: 'unknown',
      reason: `${uncertain} more may count, which would change the verdict`,
    };
  }
  const [verdict = 'unknown'] = verdicts;
  return { verdict, reason: verdict === 'violated' ? whyViolated(rule, selected, of) : null };
}

function whyNoShare({ uncertain }: Count): string {
  if (uncertain === 0) return '"of" selects no bicycles';
  return `"of" selects only bicycles without a position (${uncertain})`;
}

/**
 * Returns the lowest and the highest possible number, and the number between them that is most
 * likely to meet all limits. This is the lowest one that reaches `min`.
 */
function numbersToTry({ min = 0 }: Rule, { found, uncertain }: Count): number[] {
  const most = found + uncertain;
  const best = Math.min(Math.max(Math.ceil(min), found), most);
  return [found, best, most];
}

function totalsOf(of: Count | undefined): (number | undefined)[] {
  return of === undefined ? [undefined] : [of.found, of.found + of.uncertain];
}

/** Whether a number of bicycles meets all limits of a rule. */
function isWithin(rule: Rule, found: number, total: number | undefined): boolean {
  const { min = 0, max = Number.POSITIVE_INFINITY, maxPercent } = rule;
  if (found < min || found > max) return false;
  if (maxPercent === undefined) return true;
  // When the total is zero, a selected bicycle is above every share.
  return found * 100 <= maxPercent * (total ?? 0);
}

function whyViolated(rule: Rule, { found }: Count, of: Count | undefined): string {
  const { min, max, maxPercent } = rule;
  if (min !== undefined && found < min) return `${min - found} below the minimum`;
  if (max !== undefined && found > max) return `${found - max} above the maximum`;
  const share = of === undefined || of.found === 0 ? 100 : (found / of.found) * 100;
  return `${share.toFixed(1)} % is above ${maxPercent} %`;
}

/** Formats the limits of a rule: `20 to 200`, `at most 5 % of 475`. */
export function showLimit({ min, max, maxPercent }: Rule, of: Count | undefined): string {
  const total = of === undefined ? '' : ` of ${of.found}`;
  const parts = [
    min !== undefined && max !== undefined
      ? `${min} to ${max}`
      : min !== undefined
        ? `at least ${min}`
        : max !== undefined
          ? `at most ${max}`
          : undefined,
    maxPercent === undefined ? undefined : `at most ${maxPercent} %${total}`,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}
