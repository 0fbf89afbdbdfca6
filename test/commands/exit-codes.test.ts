// One table of exit codes and their causes (cli.md section 3). Each row runs one command line against
// a service with one behaviour. Two codes are tested elsewhere: 1, which needs a bug of fleet
// (test/internal-error.test.ts), and 131, which needs a prompt (test/commands/prompt-terminal.test.ts).

import { EventEmitter } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newFolder } from '../support/folder.js';
import { listenOn } from '../support/listen.js';
import { jsonLines, runFleet } from '../support/run.js';
import { type Answer, openServer, sendJson } from '../support/server.js';

const UUID = 'aaaaaaaa-0000-4000-8000-000000000001';
const LIST = 'bicycles list --retries 0';
const ACT = `bicycles act ${UUID} rent --yes --retries 0`;
const TWO = `bicycles act ${UUID} ${UUID.replace('1', '2')} rent --yes --retries 0`;

const status =
  (code: number, body: unknown = { detail: 'the reason' }): Answer =>
  (response) =>
    void sendJson(response, code, body);
const text =
  (body: string): Answer =>
  (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(body);
const listOf = (count: number, items: readonly unknown[]) => status(200, { count, results: items });
const EMPTY = listOf(0, []);

const UNTIL = `watch ${UUID} --bicycle ${UUID} --until state=lost --for 1s`;

/** A service with one bicycle and a push channel without messages. */
function quietService(): Answer {
  const bicycle = { uuid: UUID, state: 'rented' };
  return (response, { path }) => {
    if (path.startsWith('/subscribe/'))
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n');
    else if (path.startsWith(`/bicycles/${UUID}`)) sendJson(response, 200, bicycle);
    else sendJson(response, 200, { count: 1, results: [bicycle] });
  };
}

interface Cause {
  cause: string;
  line: string;
  /** The behaviour of the service; by default it answers with an empty list. */
  answer?: Answer;
  env?: NodeJS.ProcessEnv;
  stdin?: string;
  /** The signal that the operator sends while the command waits for an answer. */
  signal?: NodeJS.Signals;
}

/** Returns a port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listenOn(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function brokenSettings(): NodeJS.ProcessEnv {
  const folder = newFolder();
  writeFileSync(join(folder, 'config.json'), '{');
  return { FLEET_CONFIG_DIR: folder };
}

/** Accepts every second change. */
function refuseSecond(): Answer {
  let changes = 0;
  return (response) => {
    changes++;
    if (changes % 2 === 0) sendJson(response, 400, { detail: 'the reason' });
    else response.writeHead(204).end();
  };
}

const CAUSES: { code: number; kind: string | undefined; causes: Cause[] }[] = [
  {
    code: 0,
    kind: undefined,
    causes: [
      { cause: 'a list without items', line: LIST },
      { cause: 'help', line: 'bicycles list --help' },
      { cause: 'the version', line: '--version' },
      { cause: 'a carried out change', line: ACT, answer: status(204, undefined) },
    ],
  },
  {
    code: 2,
    kind: 'usage',
    causes: [
      { cause: 'an unknown command', line: 'bicycles lst' },
      { cause: 'an unknown flag', line: 'bicycles list --colour red' },
      { cause: 'a wrong value of a flag', line: 'bicycles list --limit 0' },
      { cause: 'flags that exclude each other', line: 'bicycles list --page 2 --all' },
      { cause: 'a missing argument', line: 'bicycles get' },
      { cause: 'an unknown column', line: 'bicycles list --columns nme' },
      { cause: 'a condition that cannot be parsed', line: 'bicycles list --where state' },
      { cause: 'a jq program that does not compile', line: 'bicycles list --jq .[' },
      { cause: 'an unknown transition', line: `bicycles act ${UUID} polish --yes` },
      { cause: 'a missing input file', line: 'bicycles edit --from missing.csv' },
      { cause: 'input rows without a bicycle', line: 'bicycles edit -', stdin: 'note\nbrake\n' },
      { cause: 'a question without a terminal', line: `bicycles act ${UUID} retire` },
    ],
  },
  {
    code: 3,
    kind: 'config',
    causes: [
      { cause: 'no address', line: LIST, env: { FLEET_BASE_URL: '' } },
      { cause: 'no token', line: LIST, env: { FLEET_TOKEN: '' } },
      { cause: 'an invalid address', line: LIST, env: { FLEET_BASE_URL: 'service' } },
      {
        cause: 'plain http to another machine',
        line: LIST,
        env: { FLEET_BASE_URL: 'http://192.0.2.1/' },
      },
      { cause: 'an unknown profile', line: `${LIST} --profile berlin` },
      { cause: 'settings that cannot be parsed', line: LIST, env: brokenSettings() },
      { cause: 'no mirror', line: 'bicycles list --offline' },
    ],
  },
  {
    code: 4,
    kind: 'auth',
    causes: [
      { cause: '401', line: LIST, answer: status(401) },
      { cause: '403', line: LIST, answer: status(403) },
      { cause: '401 for a change', line: ACT, answer: status(401) },
    ],
  },
  {
    code: 5,
    kind: 'not-found',
    causes: [
      { cause: '404', line: LIST, answer: status(404) },
      { cause: '410', line: LIST, answer: status(410) },
      { cause: 'an unknown bicycle', line: `bicycles get ${UUID}`, answer: status(404) },
      { cause: 'an unknown name', line: 'bicycles get Ada' },
    ],
  },
  {
    code: 6,
    kind: 'rejected',
    causes: [
      { cause: '400', line: LIST, answer: status(400) },
      { cause: '409', line: LIST, answer: status(409) },
      { cause: '418', line: LIST, answer: status(418) },
      { cause: 'a refused transition', line: ACT, answer: status(400) },
    ],
  },
  {
    code: 7,
    kind: 'service',
    causes: [
      { cause: '429', line: LIST, answer: status(429) },
      { cause: '500', line: LIST, answer: status(500) },
      { cause: '503', line: LIST, answer: status(503) },
      { cause: 'a redirect without an address', line: LIST, answer: status(301, '') },
      { cause: 'an answer that is not JSON', line: LIST, answer: text('<html>') },
      { cause: 'a list that is an object', line: LIST, answer: text('{"a":1}') },
      { cause: 'another bicycle', line: `bicycles get ${UUID}`, answer: text('{"uuid":"b"}') },
    ],
  },
  {
    code: 8,
    kind: 'network',
    causes: [
      {
        cause: 'a refused connection',
        line: LIST,
        env: { FLEET_BASE_URL: `http://127.0.0.1:${await closedPort()}` },
      },
      {
        cause: 'an unknown host',
        line: LIST,
        env: { FLEET_BASE_URL: 'https://fleet-tests.invalid' },
      },
      {
        cause: 'a connection that breaks',
        line: LIST,
        answer: (_response, _asked, socket) => void socket.destroy(),
      },
      { cause: 'no answer in time', line: `${LIST} --timeout 0.2`, answer: () => {} },
    ],
  },
  {
    code: 9,
    kind: 'partial',
    causes: [
      {
        cause: 'a list with fewer items than its count',
        line: `${LIST} --all`,
        answer: listOf(3, [{ uuid: UUID }]),
      },
      { cause: 'a partly refused bulk run', line: TWO, answer: refuseSecond() },
      { cause: 'a change without a known outcome', line: TWO, answer: status(500) },
    ],
  },
  {
    code: 10,
    kind: 'output',
    causes: [{ cause: 'a file that cannot be written', line: `${LIST} --file /dev/full` }],
  },
  {
    code: 124,
    kind: 'timeout',
    causes: [{ cause: '--until that was not met in time', line: UNTIL, answer: quietService() }],
  },
  // The operator knows about the signal, so fleet prints no error.
  { code: 129, kind: undefined, causes: [{ cause: 'SIGHUP', line: LIST, signal: 'SIGHUP' }] },
  {
    code: 130,
    kind: undefined,
    causes: [
      { cause: 'Ctrl-C', line: LIST, signal: 'SIGINT' },
      { cause: 'Ctrl-C during a change', line: ACT, signal: 'SIGINT' },
    ],
  },
  { code: 143, kind: undefined, causes: [{ cause: 'SIGTERM', line: LIST, signal: 'SIGTERM' }] },
];

describe.each(CAUSES)('exit $code', ({ code, kind, causes }) => {
  test.each(causes)('$cause', async ({ line, answer = EMPTY, env, stdin, signal }) => {
    const signals = new EventEmitter();
    const interrupt: Answer = () => void signals.emit(signal ?? '', signal);
    const service = await openServer(signal === undefined ? answer : interrupt);
    const run = await runFleet([...line.split(' '), '--json'], {
      env: { ...service.env, FLEET_SSE_URL: service.url, ...env },
      signals,
      ...(stdin === undefined ? {} : { stdin }),
    });
    expect(run.code, run.stderr).toBe(code);
    const lines = jsonLines<{ error?: { kind: string; message: string } }>(run.stderr);
    expect(lines.at(-1)?.error?.kind).toBe(kind);
    // A wrong command line is refused before anything is sent.
    if (kind === 'usage' || kind === 'config') expect(service.asked).toEqual([]);
  });
});
