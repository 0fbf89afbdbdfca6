// Turns an alert into the message that --exec and --post deliver.

import type { Alert } from '../../api/alert.js';
import type { Context } from '../../context.js';
import type { DeliveryFlags } from '../../follow/delivery-flags.js';
import type { DeliveryMessage } from '../../follow/message-store.js';
import type { Notification } from '../../follow/post-templates.js';
import type { AlertItem } from '../../follower/known-alerts.js';
import { alertVersionOf } from '../../follower/known-alerts.js';
import { readBicycleNames } from '../../list/bicycle-names.js';
import { readPath, textOf } from '../../terminal/values.js';

/** Alert states that no longer need attention (interface.md section 3.2). */
const ENDED_STATES: readonly unknown[] = ['resolved', 'stopped', 'silenced'];

/** Creates the message that delivers an alert. Its JSON is the unchanged alert. */
export function deliveryMessageOf(
  item: AlertItem,
  notification: Notification | undefined,
): DeliveryMessage {
  return { id: alertVersionOf(item, 'list').id, json: item.json, notification };
}

/** Returns a function that describes an alert for `--template`, or undefined without that flag. */
export async function openNotifications(
  context: Context,
  flags: DeliveryFlags | undefined,
): Promise<(item: AlertItem) => Notification | undefined> {
  if (flags?.template === undefined) return () => undefined;
  const nameOf = await readBicycleNames(context);
  return (item) => notificationOf(item, nameOf(item.value.bicycle));
}

/** Describes an alert. `name` is the name of the alert's bicycle, if fleet knows the name. */
export function notificationOf(item: AlertItem, name: string | undefined): Notification {
  const { value } = item;
  const kind = textOf(value.alert_type) ?? 'alert';
  const state = textOf(value.state) ?? 'unknown';
  const bicycle = textOf(readPath(value.extra, 'bicycle_name')) ?? name ?? textOf(value.bicycle);
  const message = textOf(value.message) ?? '';
  const isOpen = !ENDED_STATES.includes(value.state);
  const facts: (readonly [string, string | undefined])[] = [
    ['type', kind],
    ['state', state],
    ['bicycle', bicycle],
    ['created', textOf(value.created)],
  ];
  return {
    title: message === '' ? kind : message,
    text: '',
    isOpen,
    kind,
    facts: facts.flatMap(([fact, text]) =>
      text === undefined || text === '' ? [] : [[fact, text]],
    ),
    key: alertVersionOf(item, 'list').id,
    startsAt: textOf(value.created),
    endsAt: isOpen ? undefined : (textOf(value.modified) ?? textOf(value.created)),
    link: linkOf(value),
  };
}

function linkOf({ url }: Alert): string | undefined {
  return typeof url === 'string' && /^https?:\/\//.test(url) ? url : undefined;
}
