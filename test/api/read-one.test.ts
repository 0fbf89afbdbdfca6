// Tests which answers at the URL of a bicycle mean that the service does not show the bicycle.

import { expect, test } from 'vitest';
import { BICYCLE } from '../../src/api/bicycle.js';
import { readOneIfShown } from '../../src/api/read-one.js';
import { openTestClient } from '../support/client.js';
import { type Answer, openServer, sendJson } from '../support/server.js';

async function read(answer: Answer): Promise<unknown> {
  const { url } = await openServer(answer);
  const { client } = await openTestClient(url, { retries: 0 });
  return await readOneIfShown(client, BICYCLE, 'u').then(
    (item) => item?.value ?? 'none',
    ({ kind }) => kind,
  );
}

test.each<[string, Answer, unknown]>([
  ['a bicycle', (response) => sendJson(response, 200, { uuid: 'u' }), { uuid: 'u' }],
  ['another bicycle', (response) => sendJson(response, 200, { uuid: 'v' }), 'service'],
  [
    'errors with status 200',
    (response) => sendJson(response, 200, { errors: [{ message: 'no upstream' }] }),
    'service',
  ],
  [
    'a bicycle with a field `errors`',
    (response) => sendJson(response, 200, { uuid: 'u', errors: [] }),
    { uuid: 'u', errors: [] },
  ],
  ['404', (response) => sendJson(response, 404, {}), 'none'],
  ['405, from a service without this URL', (response) => sendJson(response, 405, {}), 'none'],
  ['410', (response) => sendJson(response, 410, {}), 'none'],
  [
    'a login page',
    (response) => void response.setHeader('content-type', 'text/html').end('<title>Log in</title>'),
    'service',
  ],
  ['a list', (response) => sendJson(response, 200, []), 'service'],
  ['503', (response) => sendJson(response, 503, {}), 'service'],
])(
  'reads the bicycle from a response about a single bicycle: %s',
  async (_name, answer, wanted) => {
    expect(await read(answer)).toEqual(wanted);
  },
);
