// Tests how a delivery judges the response of the receiver.

import { expect, onTestFinished, test } from 'vitest';
import { postOnce } from '../../src/follow/post.js';
import { openNetwork } from '../../src/http/network.js';
import { systemClock } from '../../src/system/clock.js';
import { openSecrets } from '../../src/system/secrets.js';
import { openServer } from '../support/server.js';

/** A refused delivery fails soon, and a failed delivery is repeated for longer. */
type Judgement = 'delivered' | 'refused' | 'failed';

test.each<[number, Judgement]>([
  [200, 'delivered'],
  [204, 'delivered'],
  [299, 'delivered'],
  [300, 'failed'],
  [301, 'failed'],
  [399, 'failed'],
  [400, 'refused'],
  [404, 'refused'],
  // The receiver may accept the message later.
  [408, 'failed'],
  [410, 'refused'],
  [425, 'failed'],
  [429, 'failed'],
  [499, 'refused'],
  [500, 'failed'],
  [503, 'failed'],
])('a delivery is judged by its status: %i means %s', async (status, judgement) => {
  const { url, asked } = await openServer((response) => {
    response.writeHead(status, { 'retry-after': '7' }).end();
  });
  const network = await openNetwork({}, 60_000, openSecrets());
  onTestFinished(() => network.close());
  const attempt = await postOnce({
    url: new URL(url),
    headers: { 'x-test': 'yes' },
    body: 'text',
    dispatcher: network.dispatcherTo(new URL(url)),
    clock: systemClock(),
    signal: new AbortController().signal,
  });
  expect(attempt).toEqual({
    isDelivered: judgement === 'delivered',
    isRefused: judgement === 'refused',
    reason: `HTTP ${status}`,
    askedMs: 7_000,
  });
  expect(asked).toMatchObject([{ method: 'POST', body: 'text', headers: { 'x-test': 'yes' } }]);
});
