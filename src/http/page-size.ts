// Chooses the page size: large where several pages are read, none where the service refuses it.

import { FleetError } from '../errors.js';
import type { HttpRequest, Query } from './types.js';

/** Observed: up to 100 are given; more are clamped silently. */
const LARGEST_PAGE = 100;
/** The usual size of a page: enough when no more is wanted. */
const USUAL_PAGE = 20;

const NAME = 'page_size';

/** Put into a query, it asks for large pages where only some are read. */
export const LARGE_PAGE = [NAME, String(LARGEST_PAGE)] as const;

/** `chosen` by the operator is asked for in every list; without it only a reading of more than one page asks. */
export function openPageSizer(chosen: number | undefined) {
  let isRefused = false;
  return {
    /** The first request of a reading, with its page size. */
    size(
      request: HttpRequest,
      { ahead, limit = Number.POSITIVE_INFINITY }: { ahead: number; limit?: number },
    ): HttpRequest {
      const query = request.query ?? [];
      const asks = query.some(isLarge);
      // A parameter of the operator's own stays, and page 3 is another one where pages are larger.
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
    /** Sends; where 400 is the answer to a page size, once more without, which is remembered when that helps. */
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
