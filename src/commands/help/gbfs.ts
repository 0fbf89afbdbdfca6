// The page `fleet help gbfs`: the service's words in those of GBFS, what a feed needs to know, and what is left out.

import { showPairs } from '../../cli/help.js';
import { SYSTEM_FIELDS, SYSTEM_NAMES } from '../../settings/system.js';

const needed = (name: keyof typeof SYSTEM_FIELDS) => {
  const { neededBy } = SYSTEM_FIELDS[name];
  return neededBy.length === 0 ? '' : neededBy.length === 1 ? ` (needed by ${neededBy[0]})` : ' (needed)';
};

export const GBFS = `
GBFS is the format in which cities and trip planners read shared mobility (gbfs.org). "fleet gbfs" writes version 3.0, or 2.3 with --version 2.3. "fleet gbfs --help" shows the flags.

The service's words in a feed:
  available             a vehicle of vehicle_status.json (2.3: free_bike_status.json)
  reserved              the same, is_reserved
  in_maintenance        is_disabled, with --disabled; else left out
  rented, lost          left out, as are unrecoverable, retired and states that are not known
  bicycle, model        form_factor bicycle; electric_assist where a range is known, else human
  uuid, name and so on  nowhere; vehicle_id (2.3: bike_id) is made anew after every rental
  state_of_charge       current_range_meters, of --range or the model's max_range_meters
  latest_gps_timestamp  last_reported; last_cellular_update where it is newer
  zone                  geofencing_zones.json: rides begin and end in service areas alone; other types of zones are left out

Left out and counted: what has no position or, with a range, no charge, belongs to another organization, or has been silent for longer than --max-age.

What the service does not know comes from --set NAME=VALUE, --system FILE with a JSON object, or "fleet config set gbfs.NAME VALUE".

Facts of the system:
${showPairs(SYSTEM_NAMES.map((name) => [name, SYSTEM_FIELDS[name].summary + needed(name)]))}

The IDs before and after a rental cannot be joined: vehicle_id is an HMAC of the bicycle and its last rental, with a key in the state folder. The rental is known from the mirror, where a gap counts as one. From the list alone the ID changes with everything that happens to the bicycle: keep a mirror for IDs that last until the next rental.

A feed that cannot be read completely is not published: the old one stays, and the message says its age. One that is more than 10 s older than its ttl is exit code 9, of --check and when publishing fails, and a 503 of /healthz.

Examples:
  # for version 2.3, with bicycles in maintenance
  fleet gbfs --out /srv/gbfs --system system.json --version 2.3 --disabled
  # look at what is left out
  fleet gbfs --out /srv/gbfs --system system.json --json
`;
