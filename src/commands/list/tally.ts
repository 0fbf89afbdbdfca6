// What has come of a list and what was shown of it, and what the operator should know of that afterwards.

import { countNoun } from '../../terminal/formats/renderer.js';
import type { Shape } from '../../terminal/formats.js';
import type { ListOptions } from './flags.js';

export interface Tally {
  pages: number;
  /** Items that came; one that came twice is counted once. */
  read: number;
  twice: number;
  /** Items that passed the filters of this side, shown or not. */
  kept: number;
  shown: number;
  /** The total of each request, as it was said first and as it was said last. */
  firstTotals: (number | undefined)[];
  lastTotals: (number | undefined)[];
  /** Whether the service has more, or there was more than was shown. */
  hasMore: boolean;
  /** Whether every page of every request was read, from the first on. */
  isComplete: boolean;
}

export function startTally(): Tally {
  return {
    pages: 0,
    read: 0,
    twice: 0,
    kept: 0,
    shown: 0,
    firstTotals: [],
    lastTotals: [],
    hasMore: false,
    isComplete: false,
  };
}

/** The sum of totals, undefined when one of them was not said. */
function sumTotals(totals: readonly (number | undefined)[]): number | undefined {
  let sum = 0;
  for (const total of totals) {
    if (total === undefined) return undefined;
    sum += total;
  }
  return sum;
}

/** `12 pages, 240 of 2003 bicycles, 812 a second`. */
export function showProgress(tally: Tally, noun: Shape<unknown>['noun'], elapsedMs: number): string {
  const { pages, read } = tally;
  const total = pages === 0 ? undefined : sumTotals(tally.lastTotals);
  const count = total === undefined ? countNoun(read, noun) : `${read} of ${countNoun(total, noun)}`;
  const rate = Math.round((read / Math.max(1, elapsedMs)) * 1000);
  return `${pages} ${pages === 1 ? 'page' : 'pages'}, ${count}, ${rate} a second`;
}

/** What was asked for, as far as the closing words depend on it. */
export interface Asked extends Pick<ListOptions, 'page' | 'limit' | 'where'> {
  /** Whether every page was wanted. */
  isWhole: boolean;
  /** Whether what was shown are the nearest of what was found. */
  isNearest: boolean;
  /** Whether something beside `--where` was left out on this side, so that the service's total says nothing. */
  isKept: boolean;
}

/** The closing words, a line each: first what casts doubt on the list, then how much of it this was and how to see more. */
export function tellTally(tally: Tally, noun: Shape<unknown>['noun'], asked: Asked): string[] {
  const { read, twice } = tally;
  const [firstTotal, lastTotal] = [sumTotals(tally.firstTotals), sumTotals(tally.lastTotals)];
  const lines: string[] = [];
  if (firstTotal !== lastTotal) {
    lines.push(`the total changed from ${firstTotal} to ${lastTotal} while the list was read`);
  }
  if (twice > 0) {
    lines.push(
      `${countNoun(twice, noun)} came twice and ${twice === 1 ? 'is' : 'are'} shown once: the fleet moved while it was read, so some may be missing; run it again, or order by a field that does not move`,
    );
  }
  const isSteady = twice === 0 && firstTotal === lastTotal;
  if (tally.isComplete && isSteady && lastTotal !== undefined && read !== lastTotal) {
    lines.push(`the service counts ${countNoun(lastTotal, noun)} and sent ${read}`);
  }
  const shown = tellShown(tally, lastTotal, noun, asked);
  return shown === undefined ? lines : [...lines, shown];
}

function tellShown(
  { read, kept, shown, hasMore }: Tally,
  total: number | undefined,
  noun: Shape<unknown>['noun'],
  { page, limit, where, isWhole, isNearest, isKept }: Asked,
): string | undefined {
  const isOnePage = limit === undefined && !isWhole;
  if (where !== undefined && isOnePage && hasMore) {
    const inAll = total === undefined ? '' : ` (${total} in all)`;
    return `${kept} of the ${countNoun(read, noun)} of this page${inAll} ${kept === 1 ? 'matches' : 'match'}; --all looks at every page`;
  }
  if (shown === 0) {
    return where === undefined || read === 0 || isNearest
      ? `no ${noun.many} found`
      : `none of ${countNoun(read, noun)} matches`;
  }
  if (!hasMore) return undefined;
  if (isNearest) return `the nearest ${shown} of ${countNoun(kept, noun)}; without --limit all are shown`;
  if (where !== undefined || isKept) {
    const more = isWhole ? 'without --limit all that match are shown' : '--all shows all that match';
    return `${countNoun(shown, noun)}; ${more}`;
  }
  const shownOf = total === undefined ? countNoun(shown, noun) : `${shown} of ${countNoun(total, noun)}`;
  const rest = isOnePage
    ? `--page ${(page ?? 1) + 1} shows the next page, --all all of them`
    : '--all shows all of them';
  return `${shownOf}; ${rest}`;
}
