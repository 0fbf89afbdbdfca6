// Starts the service of a transcript: the sandbox, a misbehaving server, or the answers that the
// transcript shows.

import { Command } from '@commander-js/extra-typings';
import { addSandboxFlags } from '../../../src/commands/sandbox/flags.js';
import { parseJson } from '../../../src/json/parse.js';
import { parseFault, type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import type { RecordedRequest } from '../../../src/sandbox/server.js';
import { parseDuration } from '../../../src/terminal/time.js';
import { HOSTILE, type HostileName, hostile } from '../hostile.js';
import { inTurn, startMisbehaving } from '../misbehaving.js';
import { startServer } from '../server.js';
import type { Exchange } from './parse.js';

/** A running service. */
export interface Service {
  /** The variables that make fleet use the service. */
  env: NodeJS.ProcessEnv;
  /** Returns all requests in their order: the method, the raw path and the body. */
  requests(): string[];
  /** Returns the header `Authorization` of all requests; undefined for a request without it. */
  authorizations(): (string | undefined)[];
  /** The sandbox, if the service is one. */
  sandbox?: Sandbox;
  /** Replaces the answers, if the service is `answers`. */
  setAnswers?(exchanges: readonly Exchange[]): void;
  close(): Promise<void>;
}

const NO_SERVICE: Service = {
  env: {},
  requests: () => [],
  authorizations: () => [],
  close: async () => {},
};

export async function startService(line: string, now: () => number): Promise<Service> {
  const [name = '', ...words] = line.split(' ');
  if (name === 'none') return NO_SERVICE;
  if (name === 'sandbox') return startSandboxService(words, now);
  if (name === 'answers') return startAnswers();
  if (name === 'hostile') return startHostile(words);
  throw new Error(`unknown service: ${name}; use sandbox, hostile, answers or none`);
}

/** A page with one bicycle. */
const PAGE = JSON.stringify({
  count: 1,
  next: null,
  previous: null,
  results: [
    { uuid: 'd238dc92-4ed5-4cec-a476-fe5f869ff26e', name: 'Emmy 0001', state: 'available' },
  ],
});

/**
 * Starts a server that misbehaves as the words name it: `breakOff breakOff honest` breaks off two
 * answers. The last behaviour repeats. The correct answer is a page with one bicycle.
 */
async function startHostile(words: readonly string[]): Promise<Service> {
  const unknown = words.find((word) => !Object.hasOwn(HOSTILE, word));
  if (unknown !== undefined || words.length === 0)
    throw new Error(
      `unknown behaviour: ${unknown}; behaviours: ${Object.keys(HOSTILE).join(', ')}`,
    );
  const behaviours = words.map((word) => hostile(word as HostileName, { body: PAGE }));
  const server = await startMisbehaving(inTurn(...behaviours));
  return {
    env: server.env,
    requests: () =>
      server.requests.map(({ method, path, body }) => showRequest(method, path, body)),
    authorizations: () => server.requests.map(({ headers }) => headers['authorization']),
    close: server.close,
  };
}

/** Without `--rate`, nothing changes by itself. */
export async function startSandboxService(
  words: readonly string[],
  now: () => number,
): Promise<Service> {
  const command = addSandboxFlags(new Command()).exitOverride();
  command.parse([...words], { from: 'user' });
  const { bicycles, seed, rate, pageSize, service, fault = [] } = command.opts();
  const sandbox = await startSandbox({
    bicycles,
    seed,
    rate: words.includes('--rate') ? rate : 0,
    pageSize,
    service,
    faults: fault.map(parseFault),
    now,
  });
  return serviceOf(sandbox);
}

/** Returns the service of a sandbox. */
async function serviceOf(sandbox: Sandbox): Promise<Service> {
  return {
    env: {
      FLEET_BASE_URL: sandbox.baseUrl,
      FLEET_SSE_URL: sandbox.sseUrl,
      FLEET_TOKEN: await sandbox.token(),
    },
    requests: () => sandbox.requests.map(({ method, url, body }) => showRequest(method, url, body)),
    authorizations: () => sandbox.requests.map(({ headers }) => authorizationOf(headers)),
    sandbox,
    close: sandbox.close,
  };
}

function authorizationOf(headers: RecordedRequest['headers']): string | undefined {
  return headers['authorization']?.toString();
}

function showRequest(method: string, path: string, body: string): string {
  return body === '' ? `${method} ${path}` : `${method} ${path} ${body}`;
}

/** Answers as the blocks in the language `http` show; the last answer to a request repeats. */
async function startAnswers(): Promise<Service> {
  let left: Exchange[] = [];
  const server = await startServer((response, { method, path }) => {
    const exchange = takeAnswer(left, method, path);
    const { status, headers, body } = exchange ?? { ...NO_ANSWER, body: noAnswer(method, path) };
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body);
  });
  return {
    env: server.env,
    requests: () => server.asked.map(({ method, path, body }) => showRequest(method, path, body)),
    authorizations: () => server.asked.map(({ headers }) => authorizationOf(headers)),
    setAnswers: (exchanges) => {
      left = [...exchanges];
    },
    close: server.close,
  };
}

const NO_ANSWER = { status: 404, headers: {} };

function noAnswer(method: string, path: string): string {
  return JSON.stringify({ detail: `no answer for ${method} ${path}` });
}

/** Takes the answer to this request; without one, that to the same page without filters. */
function takeAnswer(left: Exchange[], method: string, path: string): Exchange | undefined {
  const wanted = withoutPageSize(path);
  const isExact = (each: Exchange) =>
    each.method === method && withoutPageSize(each.path) === wanted;
  const isPage = (each: Exchange) => each.method === method && each.path === pageOf(path);
  const matches = left.some(isExact) ? isExact : isPage;
  const [first, second] = left.filter(matches);
  if (first !== undefined && second !== undefined) left.splice(left.indexOf(first), 1);
  return first;
}

/** fleet asks for larger pages when it reads a whole list. */
function withoutPageSize(path: string): string {
  return path.replace(/([?&])page_size=\d+(&|$)/, (_text, before, after) =>
    after === '' ? '' : before,
  );
}

function pageOf(path: string): string {
  const { pathname, searchParams } = new URL(path, 'http://service');
  const page = searchParams.get('page');
  return page === null ? pathname : `${pathname}?page=${page}`;
}

/**
 * Runs `service token role=admin ends=-2h`: returns a JWT that ends in 12 hours unless `ends` says
 * otherwise. The sandbox accepts its own token; the other words become claims of other tokens.
 */
export async function makeToken(
  { sandbox }: Service,
  nowMs: number,
  words: readonly string[],
): Promise<string> {
  const { ends = '12h', ...claims } = valuesOf(words) as { [name: string]: string };
  const lifetimeMs = parseDuration(ends.replace(/^-/, '')) * (ends.startsWith('-') ? -1 : 1);
  if (sandbox !== undefined) return sandbox.token({ expiresInSeconds: lifetimeMs / 1000 });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const payload = { ...claims, exp: Math.floor((nowMs + lifetimeMs) / 1000) };
  return `${part({ alg: 'HS256' })}.${part(payload)}.c2lnbmF0dXJl`;
}

/** What the command `service` of a transcript does. It steers the service, and is not fleet. */
export function steer(service: Service, words: readonly string[]): void {
  const { sandbox } = service;
  if (sandbox === undefined) throw new Error('only a sandbox can be changed with `service`');
  const [verb, bicycle = '', ...rest] = words;
  const named = sandbox.bicycles().find(({ name }) => name === bicycle);
  const uuid = named?.uuid ?? bicycle;
  if (verb === 'change') sandbox.changeBicycle(uuid, valuesOf(rest));
  else if (verb === 'change-alert') sandbox.changeAlert(uuid, valuesOf(rest));
  else if (verb === 'raise-alert') sandbox.raiseAlert(uuid, rest[0] ?? '', valuesOf(rest.slice(1)));
  else if (verb === 'act') sandbox.act(uuid, rest[0] as Parameters<Sandbox['act']>[1]);
  else if (verb === 'drop-streams') sandbox.dropStreams();
  else if (verb === 'fault') sandbox.setFaults(words.slice(1).map(parseFault));
  else if (verb === 'publish')
    sandbox.publish(words[1] ?? '', words[2] ?? '', parseJson(words[3] ?? ''));
  else throw new Error(`unknown: service ${words.join(' ')}`);
}

/** Reads `lock=null` and `name=Ada`: JSON values, or texts. */
function valuesOf(words: readonly string[]): { [field: string]: never } {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=');
      const text = word.slice(at + 1);
      const isJson = /^(?:null|true|false|-?\d[\d.e+-]*|[[{"].*)$/.test(text);
      return [word.slice(0, at), (isJson ? parseJson(text) : text) as never];
    }),
  );
}
