// Sends one request to a sandbox with fetch and returns the answer unchanged.
import type { Sandbox, TokenOptions } from '../../src/sandbox/index.js';
import { headersFor } from '../support/sandbox.js';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The caller knows the type; empty when the body is not JSON. */
  body: { [field: string]: unknown };
}

export interface Asking {
  method?: string;
  body?: unknown;
  token?: TokenOptions;
  headers?: object;
}

export type Item = { uuid: string; [field: string]: unknown };

export async function ask(
  own: Sandbox,
  path: string,
  { method, body, token, headers }: Asking = {},
): Promise<Answer> {
  const response = await fetch(path.startsWith('http') ? path : `${own.baseUrl}${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    redirect: 'manual',
    headers: { ...(await headersFor(own, token)), 'Content-Type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('Content-Type') === 'application/json' && text !== '';
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : {},
  };
}

/** Returns every item of a list, page by page. */
export async function askAll(own: Sandbox, path: string, asking?: Asking): Promise<Item[]> {
  const items: Item[] = [];
  for (let next: unknown = path; typeof next === 'string'; ) {
    const { status, body } = await ask(own, next, asking);
    if (status !== 200) throw new Error(`${next}: ${status}`);
    items.push(...(body['results'] as Item[]));
    next = body['next'];
  }
  return items;
}

export function actOn(
  own: Sandbox,
  uuid: string,
  body: object,
  asking: Asking = {},
): Promise<Answer> {
  return ask(own, `/bicycles/${uuid}/actions/`, { ...asking, body });
}

/** Returns the link of an organization; 0 is the main one. */
export const linkOf = (own: Sandbox, index = 0) =>
  `${own.baseUrl}/organizations/${own.organizations[index]?.uuid}/`;

/** A UUID that no resource has. */
export const UNKNOWN = '00000000-0000-4000-8000-000000000000';

/** Returns a bicycle of the main organization after it was put into a state. */
export function bicycleIn(own: Sandbox, state: string): string {
  const uuid = own.bicycles(own.organizations[0]?.uuid)[0]?.uuid ?? '';
  own.changeBicycle(uuid, { state });
  return uuid;
}

export const uuidsOf = (items: readonly { uuid: string }[]) => items.map(({ uuid }) => uuid);
