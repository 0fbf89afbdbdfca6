// Decides the verdict of a rule from counts. No I/O.

import type { Rule } from './rules.js';

export type Verdict = 'ok' | 'violated' | 'unknown';

/** How many bicycles are selected, and how many more could be. */
export interface Count {
  /** Selected for certain. */
  readonly found: number;
  /** Bicycles that may also be selected: they have no position, or their past is not known. */
  readonly uncertain: number;
}

export interface RuleInput {
  readonly selected: Count;
  /** The bicycles that `max_percent` refers to. */
  readonly of: Count | undefined;
  /** Why the data cannot prove `ok`: an incomplete list, or a mirror that is not current. */
  readonly doubt: string | undefined;
}

export interface RuleResult {
  readonly verdict: Verdict;
  readonly reason: string | null;
}

/**
 * Returns the verdict. It is `ok` or `violated` only when every possible number of bicycles leads to
 * it, and never `ok` on data that may be incomplete.
 */
export function decideVerdict(rule: Rule, input: RuleInput): RuleResult {
  const { selected, of, doubt } = input;
  if (doubt !== undefined) return { verdict: 'unknown', reason: doubt };
  if (rule.maxPercent !== undefined && of !== undefined && of.found + of.uncertain === 0)
    return { verdict: 'unknown', reason: '"of" selects no bicycles' };
  const least = selected.found;
  const most = selected.found + selected.uncertain;
  const verdicts = new Set([verdictOf(rule, least, of), verdictOf(rule, most, of)]);
  for (const total of totalsOf(of)) {
    verdicts.add(isWithin(rule, least, total) ? 'ok' : 'violated');
    verdicts.add(isWithin(rule, most, total) ? 'ok' : 'violated');
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

function totalsOf(of: Count | undefined): number[] {
  return of === undefined ? [] : [of.found, of.found + of.uncertain];
}

function verdictOf(rule: Rule, found: number, of: Count | undefined): Verdict {
  return isWithin(rule, found, of?.found) ? 'ok' : 'violated';
}

/** Whether a number of bicycles meets all limits of a rule. */
function isWithin(rule: Rule, found: number, total: number | undefined): boolean {
  const { min = 0, max = Number.POSITIVE_INFINITY, maxPercent } = rule;
  if (found < min || found > max) return false;
  if (maxPercent === undefined) return true;
  // A share of no bicycles is above every limit when some are selected.
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
  const parts = [
    min !== undefined && max !== undefined
      ? `${min} to ${max}`
      : min !== undefined
        ? `at least ${min}`
        : max !== undefined
          ? `at most ${max}`
          : undefined,
    maxPercent === undefined ? undefined : `at most ${maxPercent} % of ${of?.found ?? 0}`,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}
