// Counts what came of a list and what was shown of it, and writes the closing lines about that.

import { FleetError } from '../../../errors.js';
import { countNoun } from '../../../terminal/formats/renderer.js';
import type { Shape } from '../../../terminal/formats.js';
import type { ListOptions } from './flags.js';

export type Tally = ReturnType<typeof startTally>;

export function startTally() {
  return {
    pages: 0,
    /** Distinct items that came, and how many came again within one reading. */
    ...{ read: 0, repeated: 0 },
    /** How many the service counts that did not come, however often the pages were read. */
    missing: 0,
    /** Items that passed the filters of this side, and how many of them were shown. */
    ...{ kept: 0, shown: 0 },
    /** The service's total, first and last; undefined where it gives none. */
    firstTotal: undefined as number | undefined,
    lastTotal: undefined as number | undefined,
    /** Whether the service has more, or there was more than was shown. */
    hasMore: false,
    /** The number of the next page; undefined when its link has no page number. */
    nextPage: undefined as number | undefined,
  };
}

/** `12 pages, 240 of 2003 bicycles, 812 a second`. */
export function showProgress(
  tally: Tally,
  noun: Shape<unknown>['noun'],
  elapsedMs: number,
): string {
  const { pages, read, lastTotal } = tally;
  const count =
    lastTotal === undefined ? countNoun(read, noun) : `${read} of ${countNoun(lastTotal, noun)}`;
  const rate = Math.round((read / Math.max(1, elapsedMs)) * 1000);
  return `${pages} ${pages === 1 ? 'page' : 'pages'}, ${count}, ${rate} a second`;
}

/** What was asked for, as far as the closing lines depend on it. */
export interface TallyOptions extends Pick<ListOptions, 'page' | 'limit' | 'all' | 'count'> {
  /** Whether what was shown are the nearest of what was found. */
  isNearest: boolean;
  /** Whether something was left out on this side, so that the service's total says nothing. */
  isFiltered: boolean;
}

/** The closing lines: first what the operator should know of how the list came, then how much of it this was and how to see more. */
export function closingLines(
  tally: Tally,
  noun: Shape<unknown>['noun'],
  options: TallyOptions,
): string[] {
  const { read, repeated, missing, hasMore, firstTotal, lastTotal } = tally;
  const lines: string[] = [];
  if (firstTotal !== lastTotal)
    lines.push(`! the total changed from ${firstTotal} to ${lastTotal} while the list was read`);
  if (repeated > 0) {
    const doubt =
      lastTotal === undefined ? '; the service gives no count, so some may be missing' : '';
    lines.push(
      `! ${countNoun(repeated, noun)} came twice and ${repeated === 1 ? 'is' : 'are'} shown once: the list changed while it was read${doubt}`,
    );
  }
  const isWhole = !hasMore && options.page === undefined && missing === 0 && lines.length === 0;
  if (isWhole && lastTotal !== undefined && read !== lastTotal)
    lines.push(`! the service counts ${countNoun(lastTotal, noun)} and sent ${read}`);
  if (options.count !== true && missing === 0) lines.push(...describeShown(tally, noun, options));
  return lines;
}

/** The error for a list that stayed short of the service's count; undefined for one that did not. */
export function incompleteError(
  tally: Tally,
  noun: Shape<unknown>['noun'],
): FleetError | undefined {
  const { read, missing } = tally;
  if (missing === 0) return undefined;
  const what = `${missing} of ${countNoun(read + missing, noun)} ${missing === 1 ? 'is' : 'are'} missing`;
  return new FleetError('partial', `${what}: the output above is incomplete`, {
    detail: { count: read + missing, came: read, missing },
    hint: 'the service counts more than it sends, or its list changes faster than it can be read; order by a field that does not change, or try again',
  });
}

function describeShown(
  { read, kept, shown, hasMore, nextPage, lastTotal: total }: Tally,
  noun: Shape<unknown>['noun'],
  { page = 1, limit, all, isNearest, isFiltered }: TallyOptions,
): string[] {
  const isOnePage = limit === undefined && all !== true;
  if (isFiltered && isOnePage && hasMore) {
    const inAll = total === undefined ? '' : ` (${total} in all)`;
    const match = kept === 1 ? 'matches' : 'match';
    return [`${kept} of ${countNoun(read, noun)} on this page ${match}${inAll}. Every page: --all`];
  }
  if (shown === 0) {
    const none = read > 0 ? ` match: none of the ${read} checked` : ' found';
    const other = page > 1 ? 'a smaller --page' : 'fewer filters, or another --organization';
    return [
      `No ${noun.many}${none}. Try ${isNearest ? 'a larger --radius; --near is LATITUDE,LONGITUDE' : other}`,
    ];
  }
  if (!hasMore) return [];
  const of = isNearest ? kept : isFiltered ? undefined : total;
  // With a filter of fleet, the rest of the list may contain no more matches.
  const more = isFiltered ? '' : '; there are more';
  const what =
    of === undefined ? `${countNoun(shown, noun)}${more}` : `${shown} of ${countNoun(of, noun)}`;
  // Lists with cursors have no numbers to ask for.
  const next = isOnePage && nextPage !== undefined ? ` Next page: --page ${nextPage}.` : '';
  const how = all === true ? 'leave out --limit' : '--all';
  return [`Showing ${isNearest ? 'the nearest ' : ''}${what}.${next} Everything: ${how}`];
}
