// Parses the messages of the mirror's writer, with numbers as sent.

import { bicycleUuid } from '../../api/bicycle.js';
import type { PushEnvelope } from '../../api/push.js';
import { messageOf } from '../../errors.js';
import type { FollowerEvent } from '../../follower/events.js';
import type { Message, StreamEvent } from '../../http/stream/events.js';
import { exactValue } from '../../json/exact.js';
import { isObject, parseJson } from '../../json/parse.js';
import { storableJson, storableUuid } from '../../mirror/rows.js';
import type { Stop } from '../shared/follow/ending.js';

/** What waits to be written. */
export type SessionEvent = StreamEvent | FollowerEvent | Stop;

/** A message as it is merged, its numbers as they were sent; `reason`: why it cannot be read. */
export interface Heard {
  readonly type: 'heard';
  readonly event: Message;
  readonly envelope: PushEnvelope;
  readonly uuid?: string | undefined;
  readonly reason?: string;
}

export type ReadEvent = Exclude<SessionEvent, Message> | Heard;

export function readMessage(event: Message): Heard {
  const data = storableJson(event.data);
  // An event without data says nothing.
  if (data === '') return { type: 'heard', event, envelope: {} };
  try {
    const value = exactValue({ json: data, value: parseJson(data) });
    const envelope = isObject(value) ? (value as PushEnvelope) : {};
    return { type: 'heard', event, envelope, uuid: storableUuid(envelope) };
  } catch (error) {
    return { type: 'heard', event, envelope: {}, reason: messageOf(error) };
  }
}

/** The bicycles whose rows have to be loaded. */
export function uuidsOf(events: readonly ReadEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.type === 'heard') return event.uuid ?? [];
    const items = event.type === 'page' ? event.page.items : event.type === 'whole-page' ? event.items : [];
    return items.flatMap(({ value }) => bicycleUuid(value) ?? []);
  });
}
