// Stores the messages that are waiting for a command or a URL, and their failed attempts. Each
// change is appended to a log, so that the messages survive a restart.

import { isObject } from '../json/parse.js';
import type { MessageStore } from './delivery-queue.js';
import type { Notification } from './post-templates.js';

/** The delivery methods: the `--exec` command and the `--post` URL. */
export const CHANNELS = ['exec', 'post'] as const;
export type Channel = (typeof CHANNELS)[number];

/** A message for a receiver: an alert, or the verdict of a rule. */
export interface DeliveryMessage {
  /** The name of the message in notices: an alert's UUID or a rule's name. */
  readonly id: string;
  /** The JSON text that the receiver gets. */
  readonly json: string;
  /** The values that a `--template` can use. */
  readonly notification?: Notification | undefined;
}

export type WaitingMessages = ReturnType<typeof openMessageStore>;

const MOST_MESSAGES = 100_000;
const MOST_CHARACTERS = 64 * 1024 * 1024;

/** Opens an empty store. `append` must append records to the log of a state file, or throw. */
export function openMessageStore(channel: Channel, append: (records: readonly unknown[]) => void) {
  const waiting = new Map<number, { message: DeliveryMessage; tries: number }>();
  let characters = 0;
  let last = 0;

  function keep(number: number, message: DeliveryMessage, tries: number): void {
    last = Math.max(last, number);
    characters += message.json.length;
    waiting.set(number, { message, tries });
  }

  function forget(number: number): void {
    characters -= waiting.get(number)?.message.json.length ?? 0;
    waiting.delete(number);
  }

  const firstNumber = () => waiting.keys().next().value ?? 0;
  const messages: MessageStore<DeliveryMessage> = {
    first: () => waiting.get(firstNumber())?.message,
    tries: () => waiting.get(firstNumber())?.tries ?? 0,
    tried() {
      const number = firstNumber();
      const entry = waiting.get(number);
      if (entry === undefined) return;
      entry.tries++;
      append([{ channel, tried: number }]);
    },
    done() {
      const number = firstNumber();
      forget(number);
      append([{ channel, ended: number }]);
    },
    size: () => waiting.size,
  };
  return {
    ...messages,
    hasRoom: () => waiting.size < MOST_MESSAGES && characters < MOST_CHARACTERS,
    /** Adds a message. Throws when it cannot be stored. */
    add(message: DeliveryMessage): void {
      append([{ channel, waits: last + 1, tries: 0, ...message }]);
      keep(last + 1, message, 0);
    },
    /** Returns the waiting messages as records, which `restore` can read again. */
    records: () =>
      [...waiting].map(([number, { message, tries }]) => ({
        channel,
        waits: number,
        tries,
        ...message,
      })),
    /** Restores the store from one record of a log. Ignores records of other channels. */
    restore(record: { readonly [field: string]: unknown }): void {
      if (record['channel'] !== channel) return;
      const { waits, tries, id, json, notification, tried, ended } = record;
      if (typeof ended === 'number') forget(ended);
      if (typeof tried === 'number') {
        const entry = waiting.get(tried);
        if (entry !== undefined) entry.tries++;
      }
      if (typeof waits !== 'number' || typeof id !== 'string' || typeof json !== 'string') return;
      const contents = isObject(notification)
        ? (notification as unknown as Notification)
        : undefined;
      keep(waits, { id, json, notification: contents }, typeof tries === 'number' ? tries : 0);
    },
  };
}
