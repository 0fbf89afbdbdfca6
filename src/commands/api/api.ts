// `fleet api`: sends any request with the same client as all other commands, and prints the answer
// unchanged.

import { isUtf8 } from 'node:buffer';
import { STATUS_CODES } from 'node:http';
import { sendChange } from '../../bulk/in-flight.js';
import { askIfProtected, refuseIfReadOnly } from '../../bulk/question.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import { declaredCharset } from '../../http/charset.js';
import type { Client } from '../../http/client.js';
import { redact } from '../../http/headers.js';
import { pairItems, readJson } from '../../http/json.js';
import { isSafe } from '../../http/methods.js';
import { ITEM_FIELDS, readPage } from '../../http/pages.js';
import type { HttpAnswer, HttpRequest, Item } from '../../http/types.js';
import { isObject, parseJson } from '../../json/parse.js';
import { squeeze } from '../../json/text.js';
import { printList } from '../../list/list.js';
import { isScreen, writeResult } from '../../list/output-file.js';
import { openResult, printRows } from '../../list/result.js';
import { decodeBytes } from '../../system/charset.js';
import { clean } from '../../terminal/clean.js';
import type { Format, Shape } from '../../terminal/formats.js';
import { readInput } from '../../terminal/stdin.js';
import { pointOf } from '../../terminal/values.js';
import { readAddress } from './address.js';
import {
  bodyOf,
  type Field,
  queryOf,
  readHeaders,
  splitField,
  textField,
  typedField,
} from './fields.js';
import type { ApiOptions } from './flags.js';
import { addSecretHeaders, holdsSecret } from './secret-fields.js';

interface Resource {
  uuid?: unknown;
  latitude?: unknown;
  longitude?: unknown;
}

/**
 * Describes a resource of any kind for the output. The description has no columns or fields,
 * because fleet takes them from the answer.
 */
const ANYTHING: Shape<Resource> = {
  noun: { one: 'item', many: 'items' },
  columns: [],
  fields: [],
  position: ({ latitude, longitude }) => pointOf(longitude, latitude),
  positionFields: ['latitude', 'longitude'],
};

/** The formats that show the items of an answer instead of the whole answer. */
const FORMATS_OF_ITEMS: readonly Format[] = [
  'table',
  'jsonl',
  'csv',
  'tsv',
  'uuid',
  'geojson',
  'xlsx',
];

/**
 * Sends one request and prints its answer. With `--paginate`, prints the items of all pages. Throws
 * the client's errors. An invalid request is not sent and throws a usage error.
 */
export async function callApi(context: Context, path: string, options: ApiOptions): Promise<void> {
  const hasBody = options.input !== undefined || (options.field ?? options.rawField) !== undefined;
  const method = options.method ?? (hasBody ? 'POST' : 'GET');
  checkFlags(method, options);
  if (!isSafe(method)) await refuseIfReadOnly(context);
  const headers = readHeaders(options.header ?? []);
  const { baseUrl } = await context.client();
  const { search, ...address } = readAddress(path, baseUrl);
  const { output } = await context.settings();
  const format = output.origin === 'flag' ? output.value : 'json';
  // The output is opened now and written later. An invalid output format is therefore reported
  // before a request is sent.
  await openResult(context, ANYTHING, format);

  const fields = await readFields(context, options);
  const body = await readBody(context, method, fields, options.input, headers['content-type']);
  const isQuery = isSafe(method) || options.input !== undefined;
  const query = isQuery ? queryOf(fields) : [];
  // The links to further pages contain the whole query.
  const wholeQuery = [...new URLSearchParams(search), ...query];
  addSecretHeaders(headers, context.io.secrets);
  const request: HttpRequest = {
    method,
    ...address,
    query,
    ...(body === undefined ? {} : { body }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    subject: `${method} ${address.path}`,
    // An error must not show the answer when the request contained a secret. The answer can quote
    // the secret in any encoding.
    isSecret: holdsSecret(
      wholeQuery.map(([name]) => name),
      body,
    ),
  };
  if (options.paginate === true) {
    const first = { ...request, query: wholeQuery };
    return printList(context, { shape: ANYTHING, requests: [first], format }, { all: true });
  }
  if (!isSafe(method))
    await askIfProtected(context, clean(`${method} ${address.path}`), options.yes);
  await sendOne(
    context,
    { ...request, path: address.path + search },
    format,
    options.include === true,
  );
}

function checkFlags(method: string, { input, paginate, include }: ApiOptions): void {
  if (paginate === true && method !== 'GET') {
    throw usageError(
      `--paginate works only with GET, not with ${method}`,
      'add -X GET, or remove --paginate',
    );
  }
  if (paginate === true && include === true) {
    throw usageError(
      '--paginate joins several responses into one array and does not support --include',
      'remove one of them',
    );
  }
  if (input !== undefined && isSafe(method)) {
    throw usageError(
      `${method} requests have no body, so --input cannot be used`,
      'use -X POST, PUT or PATCH',
    );
  }
}

async function sendOne(
  context: Context,
  request: HttpRequest,
  format: Format,
  isHeadWanted: boolean,
): Promise<void> {
  if (isHeadWanted && context.flags.file !== undefined)
    throw usageError('--include and --file cannot be used together', 'redirect the output: > FILE');
  let refusal: HttpAnswer | undefined;
  let answer: HttpAnswer;
  try {
    const send = (client: Client) =>
      client.send({
        ...request,
        onRefusal: (refused) => {
          refusal = refused;
        },
      });
    answer = isSafe(request.method ?? 'GET')
      ? await send(await context.client())
      : await sendChange(context, send);
  } catch (error) {
    const isTheAnswer =
      error instanceof FleetError && error.status !== undefined && error.status === refusal?.status;
    if (isHeadWanted && isTheAnswer && refusal !== undefined) {
      await printRefusal(context, refusal, request.isSecret === true);
    }
    throw error;
  }
  await context.io.startPager(context.notice);
  if (isHeadWanted) await context.io.stdout.write(headOf(answer));
  if (answer.bytes.length > 0) await printBody(context, answer, format);
}

/**
 * Prints an error response for --include. When the request contained a secret, the headers and the
 * body are omitted, because they may quote it.
 */
async function printRefusal(
  context: Context,
  refusal: HttpAnswer,
  isSecret: boolean,
): Promise<void> {
  if (isSecret) return context.io.stdout.write(headOf({ ...refusal, headers: {} }));
  await context.io.stdout.write(headOf(refusal));
  await printRaw(context, refusal);
}

/**
 * Returns the status line and the headers, followed by an empty line, as `curl -i` prints them. The
 * version is HTTP/1.1, because the client does not use any other version.
 */
function headOf({ status, headers }: HttpAnswer): string {
  const lines = Object.entries(redact(headers)).map(([name, value]) => clean(`${name}: ${value}`));
  return `${[`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd(), ...lines].join('\n')}\n\n`;
}

async function printBody(context: Context, answer: HttpAnswer, format: Format): Promise<void> {
  const type = answer.headers['content-type'] ?? 'application/json';
  const isJsonWanted =
    context.flags.jq !== undefined || (await context.settings()).output.origin === 'flag';
  if (!/\bjson\b/i.test(type) && !isJsonWanted) return printRaw(context, answer);
  const body = readJson(answer);
  const items = itemsOf(answer, body, format);
  if (items === undefined && FORMATS_OF_ITEMS.includes(format) && typeof body !== 'object') {
    await context.notice(`the answer is not an object and is shown as JSON, not as ${format}`);
    return printBody(context, answer, 'json');
  }
  const item = { json: squeeze(answer.text.trim()), value: body as Resource };
  await printRows(context, { ...ANYTHING, single: items === undefined }, items ?? [item], format);
}

/**
 * Returns the items of a response, or undefined when it is not a list. A bare array is always a
 * list. An envelope is treated as a list only when the format prints single items.
 */
function itemsOf(answer: HttpAnswer, body: unknown, format: Format): Item<Resource>[] | undefined {
  if (Array.isArray(body)) return pairItems(body, answer.text, answer.text.indexOf('['));
  // An object with a `uuid` is a single resource and not a page, even when it contains arrays.
  const isEnvelope =
    isObject(body) &&
    body['uuid'] === undefined &&
    ITEM_FIELDS.some((field) => Array.isArray(body[field]));
  return isEnvelope && FORMATS_OF_ITEMS.includes(format)
    ? readPage<Resource>(answer).items
    : undefined;
}

/**
 * Prints the original body. A pipe gets the unchanged bytes; a terminal gets the text without
 * control characters.
 */
async function printRaw(context: Context, { bytes, headers }: HttpAnswer): Promise<void> {
  const { io, notice } = context;
  if (bytes.length === 0) return;
  if (!isScreen(context)) return writeResult(context, bytes);
  const decoded = decodeBytes(bytes, declaredCharset(headers['content-type']));
  const text = decoded.problem === undefined ? decoded.text : '\0';
  if (text.includes('\0') || text.includes('\uFFFD')) {
    const type = headers['content-type'] ?? 'no type';
    return notice(
      `${bytes.length} bytes (${type}) are not shown on a terminal; write them into a file with > FILE`,
    );
  }
  const shown = text.replace(/\r\n/g, '\n').replace(/[^\n\t]+/g, clean);
  await io.stdout.write(shown.endsWith('\n') ? shown : `${shown}\n`);
}

async function readText(context: Context, path: string): Promise<string> {
  const bytes = await readInput(context, path);
  if (!isUtf8(bytes)) throw usageError(`${path === '-' ? 'stdin' : path} is not UTF-8 text`);
  return bytes.toString('utf8');
}

async function readFields(
  context: Context,
  { field = [], rawField = [], input }: ApiOptions,
): Promise<Field[]> {
  const typed: Field[] = [];
  const given = field.map(splitField);
  if (given.filter(([, value]) => value === '@-').length + Number(input === '-') > 1)
    throw usageError('stdin can be read only once', 'put one of the inputs into a file');
  for (const [name, value] of given) {
    const isFile = value.startsWith('@');
    typed.push(
      isFile ? textField(name, await readText(context, value.slice(1))) : typedField(name, value),
    );
  }
  return [...typed, ...rawField.map(splitField).map(([name, value]) => textField(name, value))];
}

/**
 * Returns the body of the request, or undefined when there is none. A file must contain JSON,
 * unless a header declares another type.
 */
async function readBody(
  context: Context,
  method: string,
  fields: readonly Field[],
  input: string | undefined,
  contentType: string | undefined,
): Promise<string | undefined> {
  if (input === undefined)
    return isSafe(method) || fields.length === 0 ? undefined : bodyOf(fields);
  const text = await readText(context, input);
  if (!/\bjson\b/i.test(contentType ?? 'json')) return text;
  try {
    parseJson(text);
    return text;
  } catch {
    throw usageError(
      '--input is not JSON',
      "for other content, declare its type: -H 'Content-Type: text/plain'",
    );
  }
}
