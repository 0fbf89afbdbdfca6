// The alerts of a webhook, whose body is one alert, an array of alerts, or an envelope with a message; and the alert of a pushed message.

import type { Alert } from '../../api/alert.js';
import { pairItems } from '../../http/json.js';
import { isObject, JsonError, parseJson } from '../../json/parse.js';
import { propertyStart, valueText } from '../../json/text.js';
import type { AlertItem } from './known.js';

/** The alerts of a body, each with its text as it came; a text says why there are none. Assumed: section 6.2 shows no payload. */
export function readPayload(body: string): readonly AlertItem[] | string {
  // A byte order mark is no part of the text.
  const text = body.startsWith('\uFEFF') ? body.slice(1) : body;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    return error instanceof JsonError ? error.message : 'broken JSON';
  }
  const start = text.search(/[[{]/);
  return itemsOf(value, text, start) ?? 'neither an alert nor an array of alerts';
}

function itemsOf(value: unknown, text: string, at: number): readonly AlertItem[] | undefined {
  if (Array.isArray(value))
    return value.every(isObject) ? pairItems<Alert>(value, text, at) : undefined;
  if (!isObject(value)) return undefined;
  // An alert has a message as well, which is a text.
  const { message } = value;
  const inner =
    isObject(message) || Array.isArray(message) ? propertyStart(text, at, 'message') : undefined;
  if (inner !== undefined) return itemsOf(message, text, inner);
  return [{ value, json: valueText(text, at) }];
}

/** The alert of a message (section 2.5); undefined for one of something else, and for one that carries a part alone. */
export function readPushed(data: string): AlertItem | undefined {
  let envelope: unknown;
  try {
    envelope = parseJson(data);
  } catch {
    return undefined;
  }
  const { sender, message } = isObject(envelope) ? envelope : {};
  if (sender !== 'alert' || !isObject(message)) return undefined;
  const isWhole = ['uuid', 'modified', 'state'].every(
    (field) => typeof message[field] === 'string',
  );
  return isWhole ? { value: message, json: JSON.stringify(message) } : undefined;
}
