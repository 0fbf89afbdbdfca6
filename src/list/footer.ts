// Counts the items of a list that were received and shown, and returns the closing lines.

import { FleetError } from '../errors.js';
import { countNoun } from '../terminal/formats/renderer.js';
import type { Shape } from '../terminal/formats.js';
import type { ListOptions } from './flags.js';

export type Tally = ReturnType<typeof startTally>;

export function startTally() {
  return {
    pages: 0,
    /**
     * `read` is the number of distinct items that were received. `repeated` is the number of
     * duplicates on the pages.
     */
    ...{ read: 0, repeated: 0 },
    /**
     * The number of items that the service counts but did not send, even after the pages were read
     * again.
     */
    missing: 0,
    /** The number of items that passed fleet's own filters, and the number of items shown. */
    ...{ kept: 0, shown: 0 },
    /** The first and the last total that the service sent; undefined when it sent none. */
    firstTotal: undefined as number | undefined,
    lastTotal: undefined as number | undefined,
    /** Whether the list has more items than were shown. */
    hasMore: false,
    /** The number of the next page, or undefined when its link contains no page number. */
    nextPage: undefined as number | undefined,
  };
}

/** Returns the progress line: `12 pages, 240 of 2003 bicycles, 812 a second`. */
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

/** The options that determine the closing lines. */
export interface TallyOptions extends Pick<ListOptions, 'page' | 'limit' | 'all' | 'count'> {
  /** Whether the items nearest to a position were shown. */
  isNearest: boolean;
  /** Whether fleet itself filtered the items. The service's total then does not apply. */
  isFiltered: boolean;
}

/**
 * Returns the closing lines. The first lines describe problems with reading the list. The others
 * state the number of shown items and how to see more.
 */
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

/**
 * Returns the error when fewer items arrived than the service counts, or undefined when the list is
 * complete.
 */
export function incompleteError(
  tally: Tally,
  noun: Shape<unknown>['noun'],
): FleetError | undefined {
  const { read, missing } = tally;
  if (missing === 0) return undefined;
  const what = `${missing} of ${countNoun(read + missing, noun)} ${missing === 1 ? 'is' : 'are'} missing`;
  return new FleetError('partial', `${what}: the output above is incomplete`, {
    detail: { count: read + missing, came: read, missing },
    hint: 'the service counts more items than it sends, or the list changes faster than fleet can read it; order by a field that does not change, or try again',
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
  // When fleet itself filters the items, the remaining pages may contain no matching item. The line
  // "there are more" is therefore omitted.
  const more = isFiltered ? '' : '; there are more';
  const what =
    of === undefined ? `${countNoun(shown, noun)}${more}` : `${shown} of ${countNoun(of, noun)}`;
  // `nextPage` is undefined for a list with cursors, because such a list has no page numbers.
  const next = isOnePage && nextPage !== undefined ? ` Next page: --page ${nextPage}.` : '';
  const how = all === true ? 'remove --limit' : '--all';
  return [`Showing ${isNearest ? 'the nearest ' : ''}${what}.${next} Everything: ${how}`];
}
