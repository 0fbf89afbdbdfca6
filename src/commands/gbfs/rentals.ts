// Reads the bicycles of a mirror with their last rentals. A bicycle gets a new ID in the feed after
// each rental.

import type { Bicycle } from '../../api/bicycle.js';
import { parseJson } from '../../json/parse.js';
import type { Mirror } from '../../mirror/open.js';
import { rangeOf } from '../../mirror/past.js';
import { readTime } from '../../terminal/time.js';

/**
 * The distance in degrees (about 200 m) above which a bicycle that moved may have been rented
 * without a message.
 */
const RIDDEN_DEGREES = 0.002;
/** The states of a bicycle that is not rented. */
const AT_REST = `('"available"', '"reserved"', '"in_maintenance"')`;

/**
 * Yields the bicycles of an organization with their last rentals. The identifier of a rental
 * changes after every ride and is never reused.
 *
 * A bicycle may have been rented when it was in another state, when it moved, when it left the
 * list, or during a gap. A single statement reads everything, so that the data is consistent.
 * Expired changes are ignored. They may still be in the mirror, because they are deleted in small
 * steps.
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
        /**
         * `rental` identifies the last rental, and `sinceMs` is the time when that rental may have
         * ended.
         */
        ...{ rental, sinceMs: readTime(since) },
        /**
         * Whether the bicycle may still be on a ride. This is the case when it left its state and
         * no message contained the new state. Only the rider gets the messages about a ride. After
         * a gap this value is false, because the list then contained the current state.
         */
        isAway: Boolean(away),
      };
    }
  }
}
