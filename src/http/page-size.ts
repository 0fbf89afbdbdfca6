// Chooses the page size of lists. Reads long lists in large pages, and falls back to the default
// size when the service refuses a page size.

import { FleetError } from '../errors.js';
import type { HttpRequest, Query } from './types.js';

/**
 * Observed: the service returns at most 100 items per page, and silently reduces larger page sizes.
 */
const LARGEST_PAGE = 100;
/**
 * The service's default page size. A list with at most this many items fits on one default page.
 */
const USUAL_PAGE = 20;

const NAME = 'page_size';

/**
 * The query parameter for large pages. Callers add it when they read several pages but not the
 * whole list.
 */
export const LARGE_PAGE = [NAME, String(LARGEST_PAGE)] as const;

/**
 * Adds a page size to requests. A size from the user (`chosen`) applies to every list. Otherwise a
 * page size is added only when more than one page is read.
 */
export function openPageSizer(chosen: number | undefined) {
  let isRefused = false;
  return {
    /** Returns the first request of a list with the page size added. */
    size(
      request: HttpRequest,
      { ahead, limit = Number.POSITIVE_INFINITY }: { ahead: number; limit?: number },
    ): HttpRequest {
      const query = request.query ?? [];
      const asks = query.some(isLarge);
      // A page size in the request's query takes precedence. A query with a page number is not
      // changed. With a larger page size, the page with this number would contain different items.
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
     * Sends a request with a page size. When the service returns 400, retries without the page
     * size. After a successful retry, later requests omit the page size too.
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
