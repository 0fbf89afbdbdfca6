// Finds the alert that an operator means: a UUID, the beginning of one, or its link.

import { ALERT, type Alert } from '../../api/alert.js';
import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { type Meant, pickOne, shorten } from '../shared/list/pick-one.js';
import { findByPrefix } from '../shared/list/uuid-prefix.js';
import { scopeOf } from '../shared/organization.js';

/** Finds one alert. Throws a FleetError of kind `usage` when several match, of kind `not-found` when none does. */
export async function findAlert(context: Context, text: string): Promise<Meant<Alert>> {
  const whole = wholeUuid(text);
  if (whole !== undefined) return { uuid: whole, item: undefined };
  const list = { path: ALERT.listPath, subject: 'the list of alerts', query: await scopeOf(context) };
  const matches = await findByPrefix<Alert>(await context.client(), list, text);
  const missing = new FleetError('not-found', `no alert begins with "${shorten(text)}"`, {
    hint: 'give a UUID or its first four or more digits; "fleet alerts list" shows them',
  });
  return pickOne(text, matches, ALERT, missing);
}
