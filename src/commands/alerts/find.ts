// Finds the alert that an operator means: a UUID, the beginning of one, or its link.

import { ALERT, type Alert } from '../../api/alert.js';
import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import type { Item, Query } from '../../http/types.js';
import { clean } from '../../terminal/clean.js';
import { describe } from '../bulk/act.js';
import { beginsWith, pagesAround } from '../list/around.js';

export interface FoundAlert {
  /** In lower case. */
  uuid: string;
  /** As the list has it; undefined for a whole UUID, which is taken as it is and not looked up. */
  item: Item<Alert> | undefined;
}

/** How many matches an error lists. */
const MOST_LISTED = 10;

/** Finds one alert. Throws a FleetError of kind `usage` when several match, of kind `not-found` when none does. */
export async function findAlert(context: Context, text: string): Promise<FoundAlert> {
  const whole = wholeUuid(text);
  if (whole !== undefined) return { uuid: whole, item: undefined };
  const matches = new Map<string, Item<Alert>>();
  if (beginsWith(text, text)) {
    const organization = (await context.settings()).organization.value;
    const query: Query = organization === undefined ? [] : [['organization', organization]];
    const list = { path: ALERT.listPath, subject: 'the list of alerts', query };
    for await (const items of pagesAround<Alert>(await context.client(), list, text.toLowerCase())) {
      for (const item of items) {
        const { uuid } = item.value;
        if (typeof uuid === 'string' && beginsWith(uuid, text)) matches.set(uuid.toLowerCase(), item);
      }
    }
  }
  const [found, ...others] = matches;
  if (found === undefined) {
    throw new FleetError('not-found', `no alert begins with "${text}"`, {
      hint: 'give a UUID or its first four or more digits; "fleet alerts list" shows them',
    });
  }
  if (others.length === 0) return { uuid: found[0], item: found[1] };
  const shown = [...matches].slice(0, MOST_LISTED).map(([uuid, { value }]) => clean(describe(uuid, value.message)));
  throw usageError(
    `"${text}" matches ${matches.size} alerts; nothing was sent`,
    `give more digits or the UUID of one: ${shown.join(', ')}`,
  );
}
