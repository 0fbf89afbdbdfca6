// Decides the outcome of a change from the response (cli.md section 4, promise 9). Also compares
// stored strings with the strings that were sent.

import type { NewBicycle } from '../api/bicycle.js';
import type { Resource } from '../api/resource.js';
import type { FleetError } from '../errors.js';
import { ExchangeError } from '../http/exchange.js';
import { UNKNOWN_OUTCOME } from '../http/failure.js';
import { unexpected } from '../http/json.js';
import { isUnknownOutcome } from '../http/retry.js';
import { describeHtml } from '../http/server-text.js';
import type { HttpAnswer } from '../http/types.js';
import { isObject, parseJson, textOrNull } from '../json/parse.js';
import { escapeJson } from '../terminal/clean.js';
import type { ChangeResult, Outcome } from '../views/action.js';
import type { BulkChange, Task, TaskEnd } from './plan.js';

/** Returns a complete result: the known fields, and null for all other fields. */
export function resultOf(outcome: Outcome, known: Partial<ChangeResult> = {}): ChangeResult {
  return {
    outcome,
    status: null,
    state: null,
    request_id: null,
    milliseconds: null,
    message: null,
    ...known,
  };
}

/** Returns the outcome of a task, with the details of its response or error. */
export function endOf(
  outcome: Outcome,
  { answer, error, ...more }: Omit<TaskEnd, 'result'>,
  state: string | null = null,
): TaskEnd {
  const status = answer?.status ?? error?.status ?? null;
  const request_id = (answer ?? error)?.trace.requestId ?? null;
  const result = resultOf(outcome, { status, state, request_id, message: error?.message ?? null });
  return { result, answer, error, ...more };
}

/** The parsed JSON object in a response. */
type Body = { [name: string]: unknown };

/** The fields that fleet uses from a success response; null for missing fields. */
type Reading = Record<'uuid' | 'name' | 'state', string | null>;

/**
 * Reads the body of a 2xx response. The change succeeded when the body is empty, or when it is the
 * object of this bicycle without errors. It also succeeded when the body is an object without
 * `uuid`, `error` and `errors`. Any other body may come from a proxy. For such a body, the function
 * returns a description. Assumed: the object is the changed bicycle.
 */
function readChange(
  text: string,
  { one, nameField }: Resource,
  isOwn: (body: Body) => boolean,
): Reading | string {
  if (text === '') return { uuid: null, name: null, state: null };
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    return describeText(text);
  }
  if (!isObject(body)) return `JSON that is not an object (${text.slice(0, 40)})`;
  const { uuid = null, [nameField]: name, state } = body;
  if (uuid !== null && (typeof uuid !== 'string' || !isOwn(body)))
    return `another ${one} (${String(uuid).slice(0, 40)})`;
  const isError = (field: string) =>
    Object.hasOwn(body, field) && (uuid === null || saysSomething(body[field]));
  if (isError('error') || isError('errors')) return `an error (${text.slice(0, 100)})`;
  return { uuid, name: textOrNull(name), state: textOrNull(state) };
}

/**
 * Whether a field for errors really contains errors. The data of a bicycle can contain an empty
 * `errors` field.
 */
function saysSomething(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value !== null && value !== false && value !== '';
}

function describeText(text: string): string {
  const start = text.slice(0, 2000);
  if (start.startsWith('<')) return describeHtml(start);
  return /^[[{"]/.test(start) ? 'incomplete JSON' : `text ("${start.slice(0, 60)}")`;
}

/**
 * Whether a response contains the requested bicycle. A similar name is accepted, because services
 * can change names.
 */
function isNewBicycle({ name }: NewBicycle, answer: Body): boolean {
  return isSimilarName(name, answer['name']);
}

/** Returns the outcome of a task after a 2xx response. */
export function judgeAnswer(
  answer: HttpAnswer,
  task: Task,
  { resource, verb, checkStored }: BulkChange,
): TaskEnd {
  const { uuid, creation } = task;
  const { one } = resource;
  const isOwn = (body: Body) =>
    creation === undefined
      ? String(body['uuid']).toLowerCase() === uuid
      : isNewBicycle(creation.body, body);
  const text = answer.text.trim();
  const reading = readChange(text, resource, isOwn);
  if (typeof reading === 'string') {
    const what =
      creation === undefined ? `"${verb}" was carried out` : `"${creation.body.name}" was created`;
    const error = unexpected(
      answer,
      `${reading} where the ${one} was expected; whether ${what} is unknown`,
      creation === undefined
        ? `look at the ${one} before you try again; check that the base URL is that of the service`
        : 'before you create the bicycle again, check whether it exists; to list the newest first, run: fleet bicycles list --ordering -created',
    );
    return endOf('unknown', { error });
  }
  const { error, ...notes } = checkStored?.(task, answer) ?? {};
  if (error !== undefined) return endOf('refused', { answer, error, isWell: true, ...notes });
  const { state, ...about } = reading;
  const stored = creation === undefined ? notes : describeStoredName(creation.body, reading);
  return endOf('done', { answer, isWell: true, ...about, ...stored }, state);
}

/**
 * Returns a notice when the service stored a different name, or undefined when the service stored
 * the name unchanged.
 */
function describeStoredName(
  { name }: NewBicycle,
  { name: stored }: Reading,
): Pick<TaskEnd, 'notice'> | undefined {
  if (stored === null || compareStored(name, stored) === 'same') return undefined;
  return { notice: `the service stored ${quoteText(name)} as ${quoteText(stored)}` };
}

/**
 * Returns the outcome of a create request that was refused after it had been sent a second time.
 * The outcome is unknown. The refusal ("already exists") may mean that the first attempt created
 * the bicycle.
 */
export function doubtRefusal(end: TaskEnd): TaskEnd {
  const { error } = end;
  if (end.result.outcome !== 'refused' || error === undefined) return end;
  const words = `${error.message}; an earlier request without an answer may have created the bicycle`;
  const hint =
    'before you create the bicycle again, check whether it exists; to list the newest first, run: fleet bicycles list --ordering -created';
  return {
    ...end,
    result: { ...end.result, outcome: 'unknown', message: words },
    error: error.with({ message: words, hint }),
  };
}

/**
 * Returns the outcome of a task after a failure. `isGivenUp` means that fleet stopped waiting for
 * responses.
 */
export function judgeFailure(error: FleetError, isGivenUp: boolean): TaskEnd {
  const { status, kind, cause } = error;
  // The error also has a status when only the body of the response is broken.
  if (kind === 'network' && cause instanceof ExchangeError && cause.sent)
    return endOf('unknown', { error });
  if (status === undefined) {
    // Without a connection or a token, every further request would fail too, so the run stops.
    const outcome = kind === 'internal' || isGivenUp ? 'unknown' : 'not-sent';
    return endOf(outcome, { error, isFatal: true });
  }
  // A success status with an incomplete body does not prove that the change was carried out.
  if (status >= 200 && status < 300) {
    return endOf('unknown', {
      error: error.with({
        message: `${error.message}; ${UNKNOWN_OUTCOME}`,
        hint: error.hint ?? 'check the current state before you try again',
      }),
    });
  }
  // Every further request would get the same response, so the run stops. 405 means that the service
  // does not support this action.
  if (status === 401 || status === 403 || status === 405)
    return endOf('refused', { error, isWell: true, isFatal: true });
  // The service still limits the rate after all retries, so the run stops.
  if (status === 429) return endOf('failed', { error, isFatal: true });
  if (isUnknownOutcome(status)) return endOf('unknown', { error });
  // These statuses mean that the service did not carry out the change, but that a later attempt can
  // succeed.
  const isForNow = [408, 423, 425, 499].includes(status) || isConcurrentEdit(error);
  return endOf(isForNow ? 'failed' : 'refused', { error, isWell: true });
}

/** Searches only this many characters of an error body. */
const DETAIL_LENGTH_CHARACTERS = 2000;

/**
 * Whether the service refused a change because another user saved the bicycle at the same time.
 * Such a change was not carried out, and a retry can succeed. Assumed: the status is 409, and the
 * message or code mentions concurrency.
 */
export function isConcurrentEdit({ status, detail }: FleetError): boolean {
  return (
    status === 409 &&
    /concurren/i.test((JSON.stringify(detail) ?? '').slice(0, DETAIL_LENGTH_CHARACTERS))
  );
}

/** White space, control characters and invisible characters. Services remove or replace them. */
const REMOVED = /[\s\p{Cc}\p{Cf}]+/gu;

/** The end of a string that a service truncated: an ellipsis or half a character. */
const CUT_MARK = /[.\u2026\ufffd\p{Cs}]+$/u;

/** Characters that are ignored when names are compared, such as accents and punctuation. */
const NOT_IN_NAMES = /[^\p{L}\p{N}\p{S}]+/gu;

/**
 * Normalizes a string for comparison: removes white space and ignores differences in case and
 * Unicode form.
 */
function fold(text: string): string {
  // The text is first converted to lower case and then to upper case. This makes "ß" equal to "ẞ",
  // and "ς" equal to "σ".
  const folded = text.normalize('NFKC').replace(REMOVED, '').toLowerCase().toUpperCase();
  // NFKD separates each accent from its letter. A service may have cut a string between a letter
  // and its accent. The shortened string is then still a prefix of the whole string.
  return folded.normalize('NFKD');
}

function withoutCutMark(text: string): string {
  return text.trimEnd().replace(CUT_MARK, '');
}

/** The maximum number of characters that a notice quotes from a string. */
const LONGEST_QUOTE_CHARACTERS = 100;

/** Returns the text in quotes, with control characters escaped. */
export function quoteText(text: string): string {
  return escapeJson(JSON.stringify(text.slice(0, LONGEST_QUOTE_CHARACTERS)));
}

/** The result of comparing a stored string with the string that was sent. */
export type StoredForm = 'same' | 'normalised' | 'cut' | 'other';

/**
 * Compares a stored string with the string that was sent. `normalised` means that only white space,
 * case, Unicode form or line ends differ. `cut` means that the service stored only the start of the
 * string.
 */
export function compareStored(sent: string, stored: string): StoredForm {
  if (sent === stored) return 'same';
  const [all, part] = [fold(sent), fold(withoutCutMark(stored))];
  if (all === fold(stored)) return 'normalised';
  return part !== '' && all.startsWith(part) ? 'cut' : 'other';
}

/**
 * Whether `stored` can be the form in which a service stored the name `sent`. A missing or empty
 * stored name is treated as similar, because it does not prove a difference.
 */
export function isSimilarName(sent: string, stored: unknown): boolean {
  if (typeof stored !== 'string') return true;
  const part = fold(withoutCutMark(stored)).replace(NOT_IN_NAMES, '');
  return fold(sent).replace(NOT_IN_NAMES, '').startsWith(part);
}
