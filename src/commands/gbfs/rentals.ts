// Reads the bicycles of a mirror with their last rentals. A feed gives a bicycle a new ID after
// each rental.

import type { Bicycle } from '../../api/bicycle.js';
import { parseJson } from '../../json/parse.js';
import type { Mirror } from '../../mirror/open.js';
import { rangeOf } from '../../mirror/past.js';
import { readTime } from '../../terminal/time.js';

/**
 * A bicycle that moved by this many degrees (about 200 m) may have been rented without a message.
 */
const RIDDEN_DEGREES = 0.002;
/** A bicycle that stays in these states has not been rented. */
const AT_REST = `('"available"', '"reserved"', '"in_maintenance"')`;

/**
 * Yields the bicycles of an organization with their last rentals. The identifier of the rental
 * changes after every ride and is never used again. A single statement reads a consistent state. A
 * bicycle may have been rented when it was in another state, moved, left the list, or during a gap.
 * Expired history is ignored, because gaps are deleted at once, but changes only bit by bit.
 */
export async function* eachWithRental(
  { database }: Mirror,
  organization: string,
  keptSince: string | undefined,
) {
  const { number } = database.dialect;
  const sql = `SELECT b.raw, b.first_seen AS seen, r.id AS last, r.at AS since, (SELECT max(id) FROM gaps) AS gap,
      r.field = 'state' AND r.new = 'null' AND NOT EXISTS (SELECT 1 FROM gaps g WHERE g.started > r.at) AS away
    FROM bicycles b LEFT JOIN changes r ON r.bicycle = b.uuid AND r.id = (
      SELECT c.id FROM changes c WHERE c.bicycle = b.uuid AND c.at >= ? AND CASE
        WHEN c.field = 'state' THEN coalesce(c.old, '') NOT IN ${AT_REST} OR c.new NOT IN ${AT_REST}
        WHEN c.field IN ('latitude', 'longitude') THEN abs(${number('c.new')} - ${number('c.old')}) > ${RIDDEN_DEGREES}
        ELSE c.field IN ('rental_session', 'gone') END
      ORDER BY c.id DESC LIMIT 1
    ) WHERE b.gone IS NULL AND b.followed = ?`;
  for await (const rows of database.each(sql, [keptSince ?? rangeOf().since, organization])) {
    for (const { raw, seen, last, since, away, gap } of rows) {
      const rental = [seen, last ?? keptSince ?? null, gap].map((each) =>
        each == null ? null : String(each),
      );
      yield {
        bicycle: parseJson(String(raw)) as Bicycle,
        /** Identifies the last rental, and tells when it may have ended. */
        ...{ rental, sinceMs: readTime(since) },
        /**
         * Whether the bicycle left its state and its new state was not published, because only the
         * rider gets messages about a ride. After a gap, the list has shown the state.
         */
        isAway: Boolean(away),
      };
    }
  }
}
