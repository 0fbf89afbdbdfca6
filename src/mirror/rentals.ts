// Which rental of a bicycle was the last: what may be known by it must not outlive it.

import type { Bicycle } from '../api/bicycle.js';
import { parseJson } from '../json/parse.js';
import type { Mirror } from './open.js';

const THE_BEGINNING = '1970-01-01T00:00:00.000000Z';

/**
 * The bicycles of an organization, and what names the last rental of each: another name after every one, and never one from before. Read in
 * one statement, which sees one moment. A bicycle that left the list may have been rented meanwhile, and so may any during a gap. What is
 * due to be forgotten does not count, for gaps are forgotten at once and changes bit by bit.
 */
export async function* eachWithRental(
  { database }: Mirror,
  organization: string,
  keptSince: string | undefined,
): AsyncGenerator<{ bicycle: Bicycle; rental: readonly (string | null)[] }, void, undefined> {
  const sql = `SELECT b.raw, b.first_seen AS seen, r.last, (SELECT max(id) FROM gaps) AS gap FROM bicycles b LEFT JOIN (
      SELECT bicycle, max(id) AS last FROM changes
      WHERE ((field = 'state' AND (old = '"rented"' OR new = '"rented"')) OR field = 'gone') AND at >= ? GROUP BY bicycle
    ) r ON r.bicycle = b.uuid WHERE b.gone IS NULL AND b.followed = ?`;
  for await (const rows of database.each(sql, [keptSince ?? THE_BEGINNING, organization])) {
    for (const { raw, seen, last, gap } of rows) {
      const rental = [seen, last ?? keptSince ?? null, gap].map((each) => (each == null ? null : String(each)));
      yield { bicycle: parseJson(String(raw)) as Bicycle, rental };
    }
  }
}
