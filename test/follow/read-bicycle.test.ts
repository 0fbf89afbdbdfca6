// Tests which answers for a bicycle URL mean that the bicycle does not exist.

import { expect, test } from 'vitest';
import { readBicycle } from '../../src/follow/requests.js';
import { openTestClient } from '../support/client.js';
import { type Answer, openServer, sendJson } from '../support/server.js';

async function read(answer: Answer): Promise<unknown> {
  const { url } = await openServer(answer);
  const { client } = await openTestClient(url, { retries: 0 });
  return await readBicycle(client, 'u').then(
    (bicycle) => bicycle ?? 'none',
    ({ kind }) => kind,
  );
}

test.each<[string, Answer, unknown]>([
  ['a bicycle', (response) => sendJson(response, 200, { uuid: 'u' }), { uuid: 'u' }],
  ['404', (response) => sendJson(response, 404, {}), 'none'],
  [
    'a login page',
    (response) => void response.setHeader('content-type', 'text/html').end('<title>Log in</title>'),
    'service',
  ],
  ['a list', (response) => sendJson(response, 200, []), 'service'],
  ['503', (response) => sendJson(response, 503, {}), 'service'],
])('reads a bicycle from an answer: %s', async (_name, answer, wanted) => {
  expect(await read(answer)).toEqual(wanted);
});
