// The bicycles of a mirror with what is known of their last rentals: a feed names a bicycle anew after each.

import type { Bicycle } from '../../api/bicycle.js';
import { parseJson } from '../../json/parse.js';
import type { Mirror } from '../../mirror/open.js';
import { rangeOf } from '../../mirror/past.js';
import { readTime } from '../../terminal/time.js';

/** A bicycle that is that many degrees away, some 200 m, may have been ridden without a word. */
const RIDDEN_DEGREES = 0.002;
/** Between these no rental can be. */
const AT_REST = `('"available"', '"reserved"', '"in_maintenance"')`;

/**
 * The bicycles of an organization with their last rentals: another name after every one, and never one from before. Read in one statement,
 * which sees one moment. A bicycle in any other state, that stands elsewhere, or that left the list, may have been rented meanwhile, and so
 * may any during a gap. What is due to be forgotten does not count, for gaps are forgotten at once and changes bit by bit.
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
        /** What names its last rental, and when that may have ended. */
        ...{ rental, sinceMs: readTime(since) },
        /** It left its state, and nobody said which one it came to: a ride is told to its rider alone. After a gap the list has said it. */
        isAway: Boolean(away),
      };
    }
  }
}
