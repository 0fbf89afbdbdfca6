// The prefix of the service's paths: "some samples prefix paths with /api and some do not" (interface.md section 4).

import { isHtml } from '../http/foreign.js';
import { readPage } from '../http/pages.js';
import type { HttpAnswer } from '../http/types.js';

/** The prefix that some samples have. */
const PREFIX = '/api';

/** The addresses under which the service may answer instead: with and without the prefix, and without any path. */
function prefixVariants(baseUrl: URL): URL[] {
  const path = baseUrl.pathname.replace(/\/+$/, '');
  const paths = [path.endsWith(PREFIX) ? path.slice(0, -PREFIX.length) : path + PREFIX, PREFIX, ''];
  return [...new Set(paths)]
    .filter((other) => other !== path)
    .map((other) => new URL(`${baseUrl.origin}${other || '/'}`));
}

/**
 * The first of those addresses that answers as the service does, with a list or that it wants to know who asks; undefined when none does.
 * `ask` asks for the list of bicycles there.
 */
export async function findPrefix(
  baseUrl: URL,
  ask: (address: URL) => Promise<HttpAnswer>,
): Promise<{ address: URL; status: number } | undefined> {
  for (const address of prefixVariants(baseUrl)) {
    const answer = await ask(address).catch(() => undefined);
    if (answer !== undefined && (isRefusal(answer) || countOf(answer) !== undefined))
      return { address, status: answer.status };
  }
  return undefined;
}

/** Whether the service itself refuses the token: a page for people comes from somebody else. */
export function isRefusal({ status, text, headers }: HttpAnswer): boolean {
  return (status === 401 || status === 403) && !isHtml(text, headers['content-type']);
}

/** How many things a list holds; undefined for an answer that is no list. */
export function countOf(answer: HttpAnswer): number | undefined {
  if (answer.status !== 200) return undefined;
  try {
    const { count, items } = readPage(answer);
    return count ?? items.length;
  } catch {
    return undefined;
  }
}
