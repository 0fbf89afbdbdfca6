// The page `fleet help mirror`: the tables of a mirror with their columns, and ten queries to begin with.

import { BICYCLE_FIELDS } from '../../api/bicycle.js';

/** Queries that work in SQLite and PostgreSQL alike; each is run by a test on both. */
export const QUERIES: readonly (readonly [purpose: string, sql: string])[] = [
  ['the fleet by state', 'select state, count(*) as bicycles from latest group by state order by bicycles desc'],
  [
    'available, and nearly empty',
    "select name, state_of_charge, uuid from latest where state = 'available' and state_of_charge < 20 order by 2",
  ],
  [
    'silent for more than a day, or never heard',
    'select name, state, hours, last_position from silent where hours > 24 or never order by hours desc',
  ],
  [
    'rentals a day, and how long they took',
    'select substr(cast(started as text), 1, 10) as day, count(*) as rentals, round(avg(seconds) / 60) as minutes from rentals where start_known group by 1 order by 1',
  ],
  [
    'what is rented most',
    'select name, count(*) as rentals, round(sum(seconds) / 3600, 1) as hours from rentals where start_known group by bicycle, name order by rentals desc limit 20',
  ],
  [
    'how long bicycles stay in each state',
    'select state, count(*) as times, round(avg(seconds) / 3600, 1) as hours from state_durations where start_known and ended is not null group by state order by hours desc',
  ],
  [
    'what happened to the bicycle that changes most',
    'select at, field, old, new, source from changes where bicycle = (select bicycle from changes group by bicycle order by count(*) desc limit 1) order by at, id',
  ],
  [
    'new alerts with the names of their bicycles',
    "select a.created_utc, a.alert_type, b.name, a.message from alerts a left join bicycles b on b.uuid = a.bicycle_uuid where a.state = 'new' order by a.created_utc desc",
  ],
  [
    'a field without a column, read from raw',
    "select raw ->> 'bicycle_model_name' as model, count(*) as bicycles from bicycles where gone is null group by 1 order by 2 desc",
  ],
  [
    'when nothing was received, and what was found afterwards',
    'select started, ended, reason, found from gaps order by started desc',
  ],
];

export const MIRROR = `
A mirror is a copy of the fleet in SQLite or PostgreSQL, with its history. "fleet mirror run" keeps it current, "fleet mirror status" says how old it is, and any SQL tool can read it (open the SQLite file read-only). "fleet mirror --help" shows the commands.

Tables:
  bicycles  one row for each, also for those that left the list
  alerts    one row for each
  changes   one row for each field that changed
  gaps      when nothing was received: started, ended (null while open), reason, found (changes found afterwards)
  meta      key and value: base_url, organizations, schema and more

Columns of bicycles:
  the documented fields    as sent: ${BICYCLE_FIELDS.join(', ')}
  created_utc and so on    modified_utc, latest_gps_timestamp_utc: the times in UTC, to compare and sort
  latitude_text and so on  longitude_text, latest_gps_accuracy_text, state_of_charge_text: all digits as sent
  organization, followed   its owner; the organization whose list shows it
  concurrency_version      the version of the last save
  gone                     when it left the list; null while it is there
  first_seen, last_seen    when the mirror learned of it
  raw                      everything the service sent, as JSON: raw ->> 'note'

Columns of alerts:
  the documented fields            as sent; roles and extra as JSON
  created_utc, modified_utc        times in UTC
  bicycle_uuid, organization_uuid  from the links
  first_seen, last_seen, raw       as with bicycles

Columns of changes:
  at, received      when it happened according to the service, when it was received; UTC
  bicycle, version  its UUID and its version
  field             the field; * for one that came, gone for one that left or returned
  old, new          the values as JSON: "rented" with its quotes
  source            push, or list when it was found in the list

Views:
  latest           bicycles that are there, with the columns most asked for
  state_durations  bicycle, name, state, started, ended, seconds, next_state
  rentals          bicycle, name, started, ended, seconds, returned_as
  silent           uuid, name, state, organization, last_position, hours

What began before the mirror has no started (start_known is false); what never sent a position has no hours (never is true). In SQLite, times in UTC are text such as 2026-03-01T12:00:00.000000Z and numbers REAL; in PostgreSQL timestamptz and numeric.

Examples:
${QUERIES.map(([purpose, sql]) => `  # ${purpose}\n  fleet mirror query "${sql}"`).join('\n')}
`;

export const MIRRORING = `
"fleet mirror run" reads the list once, follows the push channel and catches up after every gap. "fleet mirror status" shows the gaps that are left, "fleet help mirror" the tables.

How it is kept:
  one writer     its heartbeat comes every 5 s; after 15 s without one another writer may take over, at once when its process is known to have ended. A writer that was replaced writes nothing more.
  transactions   a batch of messages is one: rows, changes and position together. SQLite runs with synchronous=NORMAL: a power cut may lose the last batch, which the next start catches up.
  gaps           a short cut after which the service resends everything is none; a message that cannot be read is a gap of no length, one that comes after the list has shown newer changes a gap up to those. A change that undoes a missed one makes its gap longer.
  gone           a bicycle that left the list is marked and kept. It is marked when two complete lists in a row lack it; a newer message, or a list, brings it back. When more than a fifth seems gone, the second list is read 10 minutes later. An empty list marks nothing, and one of available bicycles alone only available ones.
  links          lock, rental_session and other links are not in messages: they are those of the last list, 5 minutes old at most while no more than 2,000 bicycles change in that time. A mirror that starts reads what it had not compared yet.
  organizations  --organization, else that of the settings, else all in the token. When one is left out, its bicycles are marked as gone; when one is added, the list is read again.
  failures       a database that cannot be reached is retried for 10 minutes (exit 8), a full disk for one (exit 10); a lock, deadlock or timeout of PostgreSQL counts as out of reach. A file that is deleted or replaced ends it (exit 10). A damaged file, other tables, another service's or a newer mirror is refused and left as it is (exit 3).
  limits         NUL and half surrogate pairs become U+FFFD; names, serial numbers, bleids and states are cut at 600 bytes in their columns, and whole in raw; a uuid of more than 200 characters is left out.
  --keep         older changes and gaps are deleted within an hour; bicycles stay.

Examples:
  # keep a mirror, and forget history after 90 days
  fleet mirror run --keep 90d
  # how old and how complete it is
  fleet mirror status
`;
