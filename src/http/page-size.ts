// Chooses the page size: large when several pages are read, the default when the service refuses a
// page size.

import { FleetError } from '../errors.js';
import type { HttpRequest, Query } from './types.js';

/**
 * Observed: the service returns up to 100 items per page and silently reduces larger sizes to 100.
 */
const LARGEST_PAGE = 100;
/** The usual size of a page. It is enough for shorter lists. */
const USUAL_PAGE = 20;

const NAME = 'page_size';

/** Added to a query, it requests large pages although only some pages of the list are read. */
export const LARGE_PAGE = [NAME, String(LARGEST_PAGE)] as const;

/**
 * Adds a page size to requests. The size that the operator chose (`chosen`) applies to every list.
 * Otherwise a page size is requested only when more than one page is read.
 */
export function openPageSizer(chosen: number | undefined) {
  let isRefused = false;
  return {
    /** Returns the first request of a list with its page size. */
    size(
      request: HttpRequest,
      { ahead, limit = Number.POSITIVE_INFINITY }: { ahead: number; limit?: number },
    ): HttpRequest {
      const query = request.query ?? [];
      const asks = query.some(isLarge);
      // A page size in the operator's own query has priority. A query with a page number stays
      // unchanged, because larger pages are numbered differently.
      if (
        !asks &&
        query.some(([name]) => name === NAME || (name === 'page' && chosen === undefined))
      )
        return request;
      const isLong = chosen === undefined ? ahead > 0 && limit > USUAL_PAGE : limit > 1;
      const size =
        isRefused || !(asks || isLong) ? [] : [[NAME, String(chosen ?? LARGEST_PAGE)] as const];
      return { ...request, query: [...query.filter((pair) => !isLarge(pair)), ...size] };
    },
    /**
     * Sends a request with a page size. When the service answers 400, sends the request again
     * without the page size. If that works, later requests also omit it.
     */
    async send<T>(request: HttpRequest, send: (request: HttpRequest) => Promise<T>): Promise<T> {
      const query = request.query ?? [];
      try {
        return await send(request);
      } catch (thrown) {
        if (
          !(thrown instanceof FleetError) ||
          thrown.status !== 400 ||
          !query.some(([name]) => name === NAME)
        )
          throw thrown;
        const answer = await send({
          ...request,
          query: query.filter(([name]) => name !== NAME),
        }).catch(() => {
          throw thrown;
        });
        isRefused = true;
        return answer;
      }
    },
  };
}

const isLarge = ([name, value]: Query[number]): boolean => name === NAME && value === LARGE_PAGE[1];
