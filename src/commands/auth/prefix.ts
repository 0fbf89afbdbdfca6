// The prefix of the service's paths: "some samples prefix paths with /api and some do not" (interface.md section 4).

import { readPage } from '../../http/pages.js';
import { isHtml } from '../../http/server-text.js';
import type { HttpAnswer } from '../../http/types.js';

/** The prefix that some samples have. */
const PREFIX = '/api';

/**
 * The first address that answers as the service does, with a list or that it wants to know who asks: with or without the prefix, or without
 * any path; undefined when none does. `ask` asks for the list of bicycles there.
 */
export async function findPrefix(
  baseUrl: URL,
  ask: (address: URL) => Promise<HttpAnswer>,
): Promise<{ address: URL; status: number } | undefined> {
  const path = baseUrl.pathname.replace(/\/+$/, '');
  const swapped = path.endsWith(PREFIX) ? path.slice(0, -PREFIX.length) : path + PREFIX;
  for (const other of new Set([swapped, PREFIX, ''])) {
    const address = new URL(`${baseUrl.origin}${other || '/'}`);
    const answer = other === path ? undefined : await ask(address).catch(() => undefined);
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
