// Tests the webhooks of the sandbox (section 6.2): order, signature, retries, and only local
// receivers.
import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { parseWebhookUrl } from '../../src/sandbox/webhook.js';
import { freePort } from '../support/listen.js';
import { eventually } from '../support/running.js';
import { openSandbox } from '../support/sandbox.js';
import { type Answer, openServer } from '../support/server.js';

const taking: Answer = (response) => void response.writeHead(204).end();

/** Starts a receiver, and a sandbox that raises alerts on its first bicycle. */
async function openReceiver(
  answer: Answer,
  { path = '', ...secret }: { path?: string; secret?: string } = {},
) {
  const receiver = await openServer(answer);
  const own = await openSandbox({ bicycles: 10, webhook: { url: receiver.url + path, ...secret } });
  return { receiver, own, uuid: own.bicycles()[0]?.uuid ?? '' };
}

test('sends signed alerts in order', async () => {
  const { receiver, own, uuid } = await openReceiver(taking, { path: '/hook', secret: 's3cret' });
  const first = own.raiseAlert(uuid, 'lock.shutdown', { message: 'Δ 🚲' });
  const second = own.raiseAlert(uuid, 'bicycle.bike_stolen');
  const changed = own.changeAlert(first.uuid, { state: 'resolved' });
  await eventually(() => own.webhookCounts().delivered === 3);
  expect(receiver.asked.map(({ body }) => JSON.parse(body))).toEqual([first, second, changed]);
  for (const { method, path, headers, body } of receiver.asked) {
    const signature = `sha256=${createHmac('sha256', 's3cret').update(body).digest('hex')}`;
    expect([method, path, headers['x-fleet-signature']]).toEqual(['POST', '/hook', signature]);
    expect(headers['content-type']).toBe('application/json');
  }
});

test('does not sign webhooks when no secret is set', async () => {
  const { receiver, own, uuid } = await openReceiver(taking);
  own.raiseAlert(uuid, 'lock.shutdown');
  await eventually(() => receiver.asked.length === 1);
  expect(receiver.asked[0]?.headers).not.toHaveProperty('x-fleet-signature');
});

test('retries after temporary failures and gives up after HTTP 400', async () => {
  const answers = [500, 0, 429, 408, 204, 400, 204];
  const inTurn: Answer = (response, _, socket) => {
    const status = answers.shift() ?? 204;
    if (status === 0) socket.destroy();
    else response.writeHead(status).end();
  };
  const { receiver, own, uuid } = await openReceiver(inTurn);
  const [a, b, c] = [1, 2, 3].map(() => own.raiseAlert(uuid, 'lock.shutdown').uuid);
  await eventually(() => own.webhookCounts().waiting === 0);
  expect(own.webhookCounts()).toEqual({ delivered: 2, waiting: 0, lost: 1 });
  expect(receiver.asked.map(({ body }) => JSON.parse(body).uuid)).toEqual([a, a, a, a, a, b, c]);
});

test('sends pending alerts to a receiver that starts later', async () => {
  const port = await freePort();
  const own = await openSandbox({
    bicycles: 10,
    webhook: { url: `http://127.0.0.1:${port}` },
  });
  const uuids = [1, 2].map(
    () => own.raiseAlert(own.bicycles()[0]?.uuid ?? '', 'lock.shutdown').uuid,
  );
  await new Promise((resolve) => setTimeout(resolve, 50));
  const receiver = await openServer(taking, port);
  await eventually(() => own.webhookCounts().delivered === 2);
  expect(receiver.asked.map(({ body }) => JSON.parse(body).uuid)).toEqual(uuids);
});

test.each([
  'https://127.0.0.1/',
  'http://example.com/',
  'http://127.0.0.2/',
  'x',
  'http://localhost.example/',
])('rejects the webhook URL %s', (url) =>
  expect(() => parseWebhookUrl(url)).toThrow('the webhook'),
);

test.each(['http://127.0.0.1:4020/', 'http://localhost:4020/hook', 'http://[::1]:4020/'])(
  'accepts the webhook URL %s',
  (url) => {
    expect(parseWebhookUrl(url).href).toBe(url);
  },
);
