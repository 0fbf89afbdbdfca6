// The filter in the URL fragment of the page, so that users can share or bookmark it:
// `#state=lost&state=rented&charge=0-9&q=ada`.

import { EVERYTHING, type Filter } from './filter.js';
import { GROUPS, type Group } from './fleet.js';

const TEXT_KEY = 'q';
/** The maximum length of the search text. */
export const TEXT_CHARACTERS = 100;
/**
 * The maximum number of values for one filter in the page's URL. The page itself never writes more.
 */
const MOST_WORDS = 100;

/** Returns the filter that the page's URL fragment describes. Ignores keys that are not filters. */
export function readFragment(fragment: string): Filter {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ''));
  const words: Partial<Record<Group, ReadonlySet<string>>> = {};
  for (const group of GROUPS) {
    const found = parameters.getAll(group).slice(0, MOST_WORDS);
    if (found.length > 0) words[group] = new Set(found);
  }
  const text = (parameters.get(TEXT_KEY) ?? '').slice(0, TEXT_CHARACTERS);
  return { ...EVERYTHING, words, text };
}

/**
 * Returns a filter's URL fragment without `#`, or an empty string when the filter matches
 * everything.
 */
export function writeFragment({ words, text }: Filter): string {
  const parameters = new URLSearchParams();
  for (const group of GROUPS) for (const word of words[group] ?? []) parameters.append(group, word);
  if (text !== '') parameters.set(TEXT_KEY, text);
  return parameters.toString();
}

/** Puts the filter into the page's URL, without a new entry in the browser's history. */
export function showFilter(filter: Filter): void {
  const fragment = writeFragment(filter);
  if (fragment === location.hash.slice(1)) return;
  const { pathname, search } = location;
  const address = `${pathname}${search}${fragment === '' ? '' : `#${fragment}`}`;
  try {
    history.replaceState(history.state, '', address);
  } catch {
    // The browser throws an error when the URL changes too often. The error is ignored, because the
    // filter works even if the URL is not updated.
  }
}
