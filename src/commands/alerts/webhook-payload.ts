// Extracts alerts from webhooks and pushed messages. The body of a webhook is one alert, an array
// of alerts, or an envelope with a `message`.

import type { Alert } from '../../api/alert.js';
import type { AlertItem } from '../../follower/known-alerts.js';
import { pairItems } from '../../http/json.js';
import { isObject, JsonError, parseJson } from '../../json/parse.js';
import { propertyStart, valueText } from '../../json/text.js';

/**
 * Returns the alerts in a body, each with its original JSON text. If the body is not valid, returns
 * the reason. Assumed: section 6.2 does not describe the payload.
 */
export function readPayload(body: string): readonly AlertItem[] | string {
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
  // The `message` of an alert is a string. The `message` of an envelope is an object or an array.
  const { message } = value;
  const inner =
    isObject(message) || Array.isArray(message) ? propertyStart(text, at, 'message') : undefined;
  if (inner !== undefined) return itemsOf(message, text, inner);
  return [{ value, json: valueText(text, at) }];
}

/**
 * Returns the alert in a pushed message (section 2.5), or undefined for other messages and for
 * incomplete alerts.
 */
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
