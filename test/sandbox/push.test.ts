// Tests the push channel against interface.md sections 2.5, 4.6 and 6.1 and the observed service:
// topics, envelopes, replay and heartbeats.
import { expect, test } from 'vitest';
import type {
  Sandbox,
  SandboxOptions,
  ServedTransition,
  TokenOptions,
} from '../../src/sandbox/index.js';
import { headersFor, openSandbox, useSandbox, withSandbox } from '../support/sandbox.js';
import { ask, bicycleIn, linkOf, UNKNOWN } from './ask.js';
import { openStream, type Stream } from './stream.js';

const sandbox = useSandbox({ bicycles: 60 });

const organization = (own: Sandbox, index = 0) => own.organizations[index]?.uuid ?? '';
const all = (own: Sandbox, index = 0) => `/${organization(own, index)}/admin/bicycles/*`;
const pathOf = (topic: string) => `/subscribe/${encodeURIComponent(topic).replaceAll('*', '%2A')}/`;

async function subscribe(
  own: Sandbox,
  topic: string,
  token?: TokenOptions,
  last?: string,
): Promise<Stream> {
  const headers = {
    ...(await headersFor(own, token)),
    Accept: 'text/event-stream, application/json;version=1.0',
  };
  const again = last === undefined ? {} : { 'Last-Event-ID': last };
  return openStream(own.sseUrl, pathOf(topic), { ...headers, ...again });
}

/** Returns the values of a field in the messages, in order. */
const heard = (stream: Stream, field = 'description') =>
  stream.events.map(({ data }) => data.message[field]);

test('a stream opens with a comment and the correct headers', async () => {
  const stream = await subscribe(sandbox(), all(sandbox()));
  expect(stream).toMatchObject({
    status: 200,
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-service-from': 'sandbox-push',
    },
  });
  await stream.until(() => stream.comments.length > 0);
  expect([stream.comments, stream.events]).toEqual([['open'], []]);
  stream.close();
});

test('messages on both topics contain a change but no links', async () => {
  const uuid = bicycleIn(sandbox(), 'available');
  const topic = `/${organization(sandbox())}/admin/bicycles/${uuid}/`;
  const streams = [await subscribe(sandbox(), all(sandbox())), await subscribe(sandbox(), topic)];
  const other = sandbox().bicycles(organization(sandbox(), 1))[0]?.uuid ?? '';
  sandbox().changeBicycle(other, { description: 'of the other organization' });
  const bicycle = sandbox().changeBicycle(uuid, { description: 'two\nlines, Δ 🚲' });
  const message = { ...bicycle };
  const links = [
    'model',
    'lock',
    'image_url',
    'url',
    'organization',
    'devices',
    'reservation',
    'rental_session',
  ];
  for (const field of links) delete message[field];
  for (const stream of streams) {
    await stream.until(() => stream.events.length > 0);
    expect(stream.events[0]?.data).toEqual({ topic, sender: 'bicycle', message });
    expect(stream.events[0]?.data.message['concurrency_version']).toBe(bicycle.concurrency_version);
    stream.close();
  }
  expect(streams[0]?.events[0]?.id).toBe(streams[1]?.events[0]?.id);
});

test.each<[ServedTransition, string, boolean]>([
  ['reserve', 'available', true],
  ['rent', 'reserved', true],
  ['take_over', 'lost', true],
  ['put_in_maintenance', 'available', true],
  ['declare_lost', 'available', false],
  ['return', 'rented', false],
])(
  'the transition %s from %s publishes the old state: %s',
  async (transition, state, isAnnounced) => {
    const uuid = bicycleIn(sandbox(), state);
    const before = sandbox().pushLog.length;
    sandbox().act(uuid, transition);
    const lines = sandbox().pushLog.slice(before);
    expect(lines.map(({ sender }) => sender)).toEqual(
      isAnnounced ? ['bicycle_leaving_state', 'bicycle'] : ['bicycle'],
    );
    if (isAnnounced) expect(JSON.parse(lines[0]?.message ?? '')).toEqual({ state });
  },
);

test('publishes created bicycles and arbitrary messages', async () => {
  const stream = await subscribe(sandbox(), all(sandbox()));
  const made = await ask(sandbox(), '/bicycles/', {
    body: { name: 'New', organization: linkOf(sandbox()) },
  });
  const id = sandbox().publish(all(sandbox()), 'feedback', { stars: 5 });
  await stream.until(() => stream.events.length === 2);
  expect(heard(stream, 'uuid')[0]).toBe(made.body['uuid']);
  expect(stream.events[1]).toEqual({
    id,
    data: { topic: all(sandbox()), sender: 'feedback', message: { stars: 5 } },
  });
  stream.close();
});

test('publishes alerts only with the service "interface"', async () => {
  const before = sandbox().pushLog.length;
  sandbox().raiseAlert(bicycleIn(sandbox(), 'lost'), 'lock.shutdown');
  const senders = () => sandbox().pushLog.map(({ sender }) => sender);
  expect(senders().slice(before)).toEqual(['bicycle']);
  expect((await subscribe(sandbox(), all(sandbox()).replace('bicycles', 'alerts'))).status).toBe(
    404,
  );
  const own = await openSandbox({ service: 'interface', bicycles: 10 });
  const stream = await subscribe(own, all(own).replace('bicycles', 'alerts'));
  const alert = own.raiseAlert(bicycleIn(own, 'lost'), 'lock.shutdown');
  await stream.until(() => stream.events.length > 0);
  expect(stream.events.map(({ data }) => [data.sender, data.message])).toEqual([['alert', alert]]);
});

test.each(['admin', 'fleet_operator', 'mechanic'])(
  'gives %s separate topics that require this role in the token',
  async (role) => {
    const own = sandbox();
    const topic = `/${organization(own)}/${role}/bicycles/`;
    const named = await subscribe(own, `${topic}*`, { affiliations: [role] });
    const uuid = bicycleIn(own, 'available');
    await named.until(() => named.events.length > 0);
    expect(named.events[0]?.data.topic).toBe(`${topic}${uuid}/`);
    named.close();
    expect((await subscribe(own, `${topic}*`, { affiliations: ['other'] })).status).toBe(403);
  },
);

test('publishes bicycles of a child organization to a separate topic', async () => {
  const own = sandbox();
  const parent = await subscribe(own, all(own));
  const children = await subscribe(own, `/${organization(own)}/*/admin/bicycles/*`);
  own.changeBicycle(own.bicycles(organization(own, 1))[0]?.uuid ?? '', {
    description: 'of the child',
  });
  own.changeBicycle(bicycleIn(own, 'available'), { description: 'of the parent' });
  await parent.until(() => parent.events.length >= 2);
  await children.until(() => children.events.length > 0);
  expect(heard(children)).toEqual(['of the child']);
  expect(heard(parent)).not.toContain('of the child');
  parent.close();
  children.close();
});

const one = (uuid: string) => pathOf(`/${organization(sandbox())}/admin/bicycles/${uuid}/`);

test.each<[string, (path: string) => string]>([
  ['nothing encoded', () => `/subscribe/${all(sandbox())}/`],
  ['the asterisk as it is', (path) => path.replace('%2A', '*')],
  ['lower-case digits', (path) => path.replaceAll('%2F', '%2f')],
  ['no trailing slash', (path) => path.slice(0, -1)],
  ['a letter encoded', (path) => path.replace('admin', '%61dmin')],
  ['encoded twice', (path) => path.replaceAll('%', '%25')],
  ['broken encoding', (path) => path.replace('%2A', '%2')],
  ['not UTF-8', (path) => path.replace('%2A', '%FF')],
  ['no leading slash in the topic', (path) => path.replace('%2F', '')],
  [
    'no slash after the bicycle',
    () => one(sandbox().bicycles()[0]?.uuid ?? '').replace('%2F/', '/'),
  ],
  ['an unknown organization', (path) => path.replace(organization(sandbox()), UNKNOWN)],
  ['an unknown bicycle', () => one(UNKNOWN)],
  [
    'a bicycle of the other organization',
    () => one(sandbox().bicycles(organization(sandbox(), 1))[0]?.uuid ?? ''),
  ],
  ['another topic', (path) => path.replace('bicycles', 'locks')],
  ['another role', (path) => path.replace('admin', 'renter')],
  ['another path', () => '/bicycles/'],
])('responds with 404 to a subscription with %s', async (_, change) => {
  const path = change(pathOf(all(sandbox())));
  expect((await openStream(sandbox().sseUrl, path, await headersFor(sandbox()))).status).toBe(404);
});

test('rejects unauthorized subscriptions with 403 and unsupported methods with 405', async () => {
  const [main, second] = [organization(sandbox()), organization(sandbox(), 1)];
  for (const token of [{ role: 'renter' } as const, { organization: second }])
    expect((await subscribe(sandbox(), all(sandbox()), token)).status).toBe(403);
  const own = await subscribe(sandbox(), all(sandbox()), { organization: main, role: 'admin' });
  expect(own.status).toBe(200);
  own.close();
  const posted = await ask(sandbox(), `${sandbox().sseUrl}${pathOf(all(sandbox()))}`, {
    method: 'POST',
  });
  expect([posted.status, posted.headers.get('Allow')]).toEqual([405, 'GET']);
});

/** Changes its first bicycle once for each description. */
function change(own: Sandbox, ...descriptions: string[]): void {
  for (const description of descriptions)
    own.changeBicycle(own.bicycles(organization(own))[0]?.uuid ?? '', { description });
}

test('replays the messages after Last-Event-ID once and in order', () =>
  withSandbox({ bicycles: 30 }, async (own) => {
    const [first = '', second = ''] = own.bicycles(organization(own)).map(({ uuid }) => uuid);
    change(own, '0', '1');
    const seen = String((own.pushLog.at(-1)?.id ?? 0) - 1);
    own.changeBicycle(second, { description: '2' });
    change(own, '3');
    const after = await subscribe(own, all(own), {}, seen);
    const single = await subscribe(own, `/${organization(own)}/admin/bicycles/${first}/`, {}, seen);
    change(own, '4');
    await Promise.all([
      after.until(() => after.events.length >= 4),
      single.until(() => single.events.length >= 3),
    ]);
    expect([heard(after), heard(single)]).toEqual([
      ['1', '2', '3', '4'],
      ['1', '3', '4'],
    ]);
    const ids = after.events.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].sort((left, right) => left - right));
  }));

test.each<[string, SandboxOptions, (last: number) => string | undefined, number]>([
  ['no Last-Event-ID', {}, () => undefined, 0],
  ['the oldest that is kept', {}, (last) => String(last - 5), 5],
  ['one that is older', {}, (last) => String(last - 6), 0],
  ['the last one', {}, (last) => String(last), 0],
  ['one never given out', {}, (last) => String(last + 100), 0],
  ['one that is not a number', {}, () => 'abc', 0],
  ['a service that keeps none', { faults: [{ kind: 'noreplay' }] }, (last) => String(last - 1), 0],
])(
  'replays the correct stored messages for the last event ID: %s',
  (_, options, lastEventId, count) =>
    withSandbox({ bicycles: 10, replay: 5, ...options }, async (own) => {
      change(own, ...Array.from({ length: 20 }, () => 'old'));
      const stream = await subscribe(own, all(own), {}, lastEventId(own.pushLog.at(-1)?.id ?? 0));
      change(own, 'new');
      await stream.until(() => heard(stream).includes('new'));
      expect(heard(stream)).toEqual([...new Array(count).fill('old'), 'new']);
    }),
);

test('sends comments as heartbeats', () =>
  withSandbox({ bicycles: 10, heartbeatMs: 20 }, async (own) => {
    const stream = await subscribe(own, all(own));
    await stream.until(() => stream.comments.length >= 4);
    expect(stream.comments.slice(0, 4)).toEqual(['open', 'heartbeat', 'heartbeat', 'heartbeat']);
  }));

test('counts streams and removes those that the client closed', () =>
  withSandbox({ bicycles: 10 }, async (own) => {
    const streams = [await subscribe(own, all(own)), await subscribe(own, all(own))];
    expect(own.streamCount()).toBe(2);
    own.dropStreams();
    // Changes between the disconnection and its detection must cause no error.
    change(own, 'unheard');
    expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(['cut', 'cut']);
    expect(own.streamCount()).toBe(0);
  }));

test('ends a subscription when its token expires', () =>
  // The clock stands still 50 ms before the token expires, so it is valid on a machine of any
  // speed.
  withSandbox({ bicycles: 10, now: () => Date.UTC(2026, 0, 1) + 950 }, async (own) => {
    const stream = await subscribe(own, all(own), { expiresInSeconds: 0.05 });
    expect([stream.status, await stream.ended]).toEqual([200, 'end']);
    expect((await subscribe(own, all(own))).status).toBe(200);
  }));

test('keeps a subscription open when the system clock jumps', async () => {
  let now = Date.UTC(2026, 10, 21);
  const faults = [{ kind: 'drop', milliseconds: 3_600_000 }] as const;
  const own = await openSandbox({ bicycles: 10, now: () => now, faults: [...faults] });
  const stream = await subscribe(own, all(own));
  now += 2 * 3_600_000;
  own.setFaults([...faults]);
  change(own, 'still here');
  await stream.until(() => stream.events.length > 0);
  now -= 4 * 3_600_000;
  const versions = [1, 2].map(
    () => own.changeBicycle(bicycleIn(own, 'lost'), {}).concurrency_version ?? 0,
  );
  expect(versions[1]).toBeGreaterThan(versions[0] ?? 0);
  stream.close();
});

test('closes an unread stream before memory is full', () =>
  withSandbox({ bicycles: 10 }, async (own) => {
    const response = await fetch(`${own.sseUrl}${pathOf(all(own))}`, {
      headers: await headersFor(own),
    });
    expect(own.streamCount()).toBe(1);
    const megabyte = 'x'.repeat(2 ** 20);
    for (let count = 0; count < 200 && own.streamCount() > 0; count += 1) {
      own.publish(all(own), 'feedback', megabyte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(own.streamCount()).toBe(0);
    await response.body?.cancel().catch(() => {});
  }));

test('closes all subscriptions when the sandbox closes', async () => {
  const stream = await withSandbox({ bicycles: 10 }, (own) => subscribe(own, all(own)));
  expect(await stream.ended).toBe('cut');
});
