// Checks which organization commands use when the settings name none.

import { NAMED } from '../../api/named.js';
import { profileFlag } from '../../settings/resolve.js';
import { organizationsOf } from '../../settings/token.js';
import { clean } from '../../terminal/clean.js';
import { type Names, readNames } from '../named/find.js';
import { type Finding, ok, warning } from './finding.js';
import { clientOf, type Probe } from './probe.js';

/** More are counted. */
const MOST_SHOWN = 5;

/** The only one that the token names is used, as every command does; of several, and of those that the service lists, one is to be chosen. */
export async function offerOrganizations(probe: Probe): Promise<Finding[]> {
  const { settings, token } = probe;
  const named = organizationsOf(token ?? '');
  const baseUrl = settings.baseUrl.value;
  const names: Names | undefined =
    baseUrl === undefined || token === undefined
      ? undefined
      : await clientOf(probe, baseUrl)
          .then((client) => readNames(client, NAMED.organization))
          .catch(() => undefined);
  probe.context.signal.throwIfAborted();
  const found = named.length > 0 ? named : [...(names?.keys() ?? [])];
  const show = (uuid: string) =>
    [uuid, ...(names?.get(uuid) ?? []).slice(0, 1).map((name) => `(${clean(name)})`)].join(' ');
  const [first] = found;
  const set = (uuid: string) => `fleet config set organization ${uuid}${profileFlag(settings.profile.value)}`;
  if (first === undefined)
    return [warning('organization', 'not set: fleet watch needs one as an argument', set('UUID'))];
  if (named.length === 1)
    return [ok('organization', `not set; the only one that the token names is used: ${show(first)}`)];
  const more = found.length > MOST_SHOWN ? `, and ${found.length - MOST_SHOWN} more` : '';
  const list = found.slice(0, MOST_SHOWN).map(show).join(', ');
  return [warning('organization', `not set, and there are ${found.length}: ${list}${more}`, set(first))];
}
