// Computes the verdict of a rule from counts, without I/O.

import type { Rule } from './rules.js';

export type Verdict = 'ok' | 'violated' | 'unknown';

/**
 * A count of bicycles, which can be uncertain. The true number is between `found` and `found` plus
 * `uncertain`.
 */
export interface Count {
  /** The number of bicycles that are definitely selected. */
  readonly found: number;
  /**
   * The number of bicycles for which the selection is uncertain, because they have no position or
   * their history is unknown.
   */
  readonly uncertain: number;
}

export interface RuleInput {
  readonly selected: Count;
  /** The total number of bicycles, which counts as 100 percent for `max_percent`. */
  readonly of: Count | undefined;
  /** Why the verdict is unknown: the list is incomplete, or the mirror is out of date. */
  readonly doubt: string | undefined;
}

export interface RuleResult {
  readonly verdict: Verdict;
  readonly reason: string | null;
}

/**
 * Returns the verdict of a rule. The verdict is `ok` or `violated` only if every possible number of
 * bicycles leads to the same verdict. Incomplete data leads to `unknown`.
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
 * Returns the possible numbers of bicycles for which the limits are checked, because the exact
 * number can be unknown. These are the lowest possible number, the lowest possible number that
 * reaches `min`, and the highest possible number. The second of them is the most likely to meet all
 * limits.
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
  // With a total of zero, even one selected bicycle exceeds any percentage.
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
