// The push channel against interface.md sections 2.5, 4.6 and 6.1: encoding, topics, envelopes, replay, heartbeats.
import { expect, test } from 'vitest';
import type { Sandbox, TokenOptions } from '../../src/sandbox/index.js';
import { headersFor, useSandbox, withSandbox } from '../support/sandbox.js';
import { openStream, type Stream } from './stream.js';

const sandbox = useSandbox({ service: 'interface', bicycles: 60 });

const main = (own: Sandbox) => own.organizations[0]?.uuid ?? '';
const all = (own: Sandbox) => `/subscribe/%2F${main(own)}%2Fadmin%2Fbicycles%2F%2A/`;
const one = (own: Sandbox, uuid: string) => `/subscribe/%2F${main(own)}%2Fadmin%2Fbicycles%2F${uuid}%2F/`;

async function subscribe(own: Sandbox, path: string, token?: TokenOptions, lastEventId?: string): Promise<Stream> {
  const headers = { ...(await headersFor(own, token)), Accept: 'text/event-stream, application/json;version=1.0' };
  const last = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
  const stream = await openStream(own.sseUrl, path, { ...headers, ...last });
  return stream;
}

function available(own: Sandbox): string {
  const uuid = own.bicycles(main(own))[0]?.uuid ?? '';
  own.changeBicycle(uuid, { state: 'available' });
  return uuid;
}

test('opens with a comment, the right headers and nothing else', async () => {
  const stream = await subscribe(sandbox(), all(sandbox()));
  expect(stream.status).toBe(200);
  expect(stream.headers['content-type']).toBe('text/event-stream');
  expect(stream.headers['cache-control']).toBe('no-store');
  expect(stream.headers['x-service-from']).toBe('sandbox-push');
  await stream.until(() => stream.comments.length > 0);
  expect([stream.comments, stream.events]).toEqual([['open'], []]);
  stream.close();
});

test('a change reaches both topics, each envelope with its own', async () => {
  const uuid = sandbox().bicycles(main(sandbox()))[3]?.uuid ?? '';
  const other = sandbox().bicycles(main(sandbox()))[4]?.uuid ?? '';
  const [fleet, single] = [
    await subscribe(sandbox(), all(sandbox())),
    await subscribe(sandbox(), one(sandbox(), uuid)),
  ];
  sandbox().changeBicycle(other, { description: 'another' });
  const message = sandbox().changeBicycle(uuid, { description: 'two\nlines, Δ 🚲' });
  await Promise.all([fleet.until(() => fleet.events.length === 2), single.until(() => single.events.length === 1)]);
  const envelope = { sender: 'bicycle', message };
  expect(fleet.events[1]?.data).toEqual({ topic: `/${main(sandbox())}/admin/bicycles/*`, ...envelope });
  expect(single.events[0]?.data).toEqual({ topic: `/${main(sandbox())}/admin/bicycles/${uuid}/`, ...envelope });
  expect(single.events[0]?.id).toBe(fleet.events[1]?.id);
  fleet.close();
  single.close();
});

test('an action and a creation by a client are pushed', async () => {
  const uuid = available(sandbox());
  const stream = await subscribe(sandbox(), all(sandbox()));
  const headers = { ...(await headersFor(sandbox())), 'Content-Type': 'application/json' };
  const post = (path: string, body: object) =>
    fetch(`${sandbox().baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  await post(`/bicycles/${uuid}/actions/`, { type: 'take_over' });
  await post('/bicycles/', { name: 'New', organization: `${sandbox().baseUrl}/organizations/${main(sandbox())}/` });
  await stream.until(() => stream.events.length === 3);
  expect(stream.events.map(({ data }) => [data.sender, data.message])).toEqual([
    ['bicycle_leaving_state', { state: 'available' }],
    ['bicycle', sandbox().bicycle(uuid)],
    ['bicycle', sandbox().bicycles().at(-1)],
  ]);
  stream.close();
});

test('only leaving available is announced, with the state alone, on both topics', async () => {
  const uuid = available(sandbox());
  const streams = [await subscribe(sandbox(), all(sandbox())), await subscribe(sandbox(), one(sandbox(), uuid))];
  sandbox().act(uuid, 'reserve');
  sandbox().act(uuid, 'rent');
  sandbox().act(uuid, 'return');
  for (const stream of streams) {
    await stream.until(() => stream.events.length === 4);
    const shown = stream.events.map(({ data }) => `${data.sender} ${data.message['state']}`);
    expect(shown).toEqual([
      'bicycle_leaving_state available',
      'bicycle reserved',
      'bicycle rented',
      'bicycle available',
    ]);
    expect(Object.keys(stream.events[0]?.data.message ?? {})).toEqual(['state']);
    stream.close();
  }
});

test('the other organization hears nothing of it; neither do alerts come on these topics', async () => {
  const second = sandbox().organizations[1]?.uuid ?? '';
  const stream = await subscribe(sandbox(), `/subscribe/%2F${second}%2Fadmin%2Fbicycles%2F%2A/`);
  const alerts = await subscribe(sandbox(), `/subscribe/%2F${second}%2Fadmin%2Falerts%2F%2A/`);
  sandbox().changeBicycle(sandbox().bicycles(main(sandbox()))[0]?.uuid ?? '', { description: 'main' });
  const uuid = sandbox().bicycles(second)[0]?.uuid ?? '';
  const alert = sandbox().raiseAlert(uuid, 'lock.shutdown');
  sandbox().changeBicycle(uuid, { description: 'second' });
  await stream.until(() => stream.events.length > 0);
  expect(stream.events.map(({ data }) => data.message['description'])).toEqual(['second']);
  await alerts.until(() => alerts.events.length > 0);
  expect(alerts.events.map(({ data }) => [data.sender, data.message])).toEqual([['alert', alert]]);
  stream.close();
  alerts.close();
});

test('any message can be published as it is', async () => {
  const stream = await subscribe(sandbox(), all(sandbox()));
  const topic = `/${main(sandbox())}/admin/bicycles/*`;
  const id = sandbox().publish(topic, 'feedback', { stars: 5 });
  await stream.until(() => stream.events.length > 0);
  expect(stream.events).toEqual([{ id, data: { topic, sender: 'feedback', message: { stars: 5 } } }]);
  expect(sandbox().pushLog.at(-1)).toMatchObject({ id, sender: 'feedback', topics: [topic] });
  stream.close();
});

const BICYCLE = () => sandbox().bicycles(main(sandbox()))[0]?.uuid ?? '';

test.each<[string, () => string]>([
  ['nothing encoded', () => `/subscribe//${main(sandbox())}/admin/bicycles/*/`],
  ['the asterisk as it is', () => all(sandbox()).replace('%2A', '*')],
  ['lower-case digits', () => all(sandbox()).replaceAll('%2F', '%2f')],
  ['a lower-case asterisk', () => all(sandbox()).replace('%2A', '%2a')],
  ['no trailing slash', () => all(sandbox()).slice(0, -1)],
  ['two trailing slashes', () => `${all(sandbox())}/`],
  ['a letter encoded', () => all(sandbox()).replace('admin', '%61dmin')],
  ['a dash encoded', () => all(sandbox()).replace('-', '%2D')],
  ['encoded twice', () => all(sandbox()).replaceAll('%', '%25')],
  ['broken encoding', () => all(sandbox()).replace('%2A', '%2')],
  ['not UTF-8', () => all(sandbox()).replace('%2A', '%FF')],
  ['no leading slash in the topic', () => all(sandbox()).replace('%2F', '')],
  ['a slash too many in the topic', () => all(sandbox()).replace('%2A', '%2A%2F')],
  ['no slash after the bicycle', () => one(sandbox(), BICYCLE()).replace('%2F/', '/')],
  ['an unknown organization', () => all(sandbox()).replace(main(sandbox()), '00000000-0000-4000-8000-000000000000')],
  ['an organization in upper case', () => all(sandbox()).replace(main(sandbox()), main(sandbox()).toUpperCase())],
  ['an unknown bicycle', () => one(sandbox(), '00000000-0000-4000-8000-000000000000')],
  [
    'a bicycle of the other organization',
    () => one(sandbox(), sandbox().bicycles(sandbox().organizations[1]?.uuid)[0]?.uuid ?? ''),
  ],
  ['another topic', () => all(sandbox()).replace('bicycles', 'locks')],
  ['another role', () => all(sandbox()).replace('admin', 'renter')],
  ['an empty topic', () => '/subscribe//'],
  ['another path', () => '/bicycles/'],
])('404 for a subscription with %s', async (_, path) => {
  expect((await subscribe(sandbox(), path())).status).toBe(404);
});

test('403 for a renter, and for a token of another organization', async () => {
  expect((await subscribe(sandbox(), all(sandbox()), { role: 'renter' })).status).toBe(403);
  expect((await subscribe(sandbox(), one(sandbox(), BICYCLE()), { role: 'renter' })).status).toBe(403);
  const second = sandbox().organizations[1]?.uuid ?? '';
  expect((await subscribe(sandbox(), all(sandbox()), { organization: second })).status).toBe(403);
  const own = await subscribe(sandbox(), all(sandbox()), { organization: main(sandbox()), role: 'admin' });
  expect(own.status).toBe(200);
  own.close();
});

test('405 for another method', async () => {
  const response = await fetch(`${sandbox().sseUrl}${all(sandbox())}`, {
    method: 'POST',
    headers: await headersFor(sandbox()),
  });
  expect([response.status, response.headers.get('Allow')]).toEqual([405, 'GET']);
});

test('what was missed comes again after Last-Event-ID, in order, once, and only of the topic', () =>
  withSandbox({ service: 'interface', bicycles: 30 }, async (own) => {
    const [first = '', second = ''] = own.bicycles(main(own)).map(({ uuid }) => uuid);
    const before = await subscribe(own, all(own));
    own.changeBicycle(first, { description: '0' });
    await before.until(() => before.events.length === 1);
    before.close();
    const seen = String(before.events[0]?.id);
    for (const description of ['1', '2', '3']) own.changeBicycle(description === '2' ? second : first, { description });
    const after = await subscribe(own, all(own), {}, seen);
    const single = await subscribe(own, one(own, first), {}, seen);
    own.changeBicycle(first, { description: '4' });
    await Promise.all([after.until(() => after.events.length >= 4), single.until(() => single.events.length >= 3)]);
    const told = (stream: Stream) => stream.events.map(({ data }) => data.message['description']);
    expect(told(after)).toEqual(['1', '2', '3', '4']);
    expect(told(single)).toEqual(['1', '3', '4']);
    const ids = [...before.events, ...after.events].map(({ id }) => id);
    expect(ids).toEqual([...ids].sort((left, right) => left - right));
    expect(new Set(ids).size).toBe(5);
  }));

test.each<[string, (last: number) => string | undefined]>([
  ['no Last-Event-ID', () => undefined],
  ['one too old for the buffer', () => '1'],
  ['the last one', (last) => String(last)],
  ['one never given out', (last) => String(last + 100)],
  ['one that is no number', () => 'abc'],
])('with %s it goes on live', (_, lastEventId) =>
  withSandbox({ service: 'interface', bicycles: 10, replay: 5 }, async (own) => {
    const uuid = own.bicycles()[0]?.uuid ?? '';
    for (let count = 0; count < 20; count += 1) own.changeBicycle(uuid, { description: 'old' });
    const stream = await subscribe(own, all(own), {}, lastEventId(own.pushLog.at(-1)?.id ?? 0));
    own.changeBicycle(uuid, { description: 'new' });
    await stream.until(() => stream.events.length > 0);
    expect(stream.events.map(({ data }) => data.message['description'])).toEqual(['new']);
  }),
);

test('the buffer keeps exactly as many events as asked for', () =>
  withSandbox({ service: 'interface', bicycles: 10, replay: 5 }, async (own) => {
    const uuid = own.bicycles()[0]?.uuid ?? '';
    for (let count = 0; count < 20; count += 1) own.changeBicycle(uuid, { description: String(count) });
    const last = own.pushLog.at(-1)?.id ?? 0;
    const stream = await subscribe(own, all(own), {}, String(last - 5));
    await stream.until(() => stream.events.length === 5);
    expect(stream.events.map(({ id }) => id)).toEqual([4, 3, 2, 1, 0].map((back) => last - back));
  }));

test('a comment as heartbeat', () =>
  withSandbox({ service: 'interface', bicycles: 10, heartbeatMs: 20 }, async (own) => {
    const stream = await subscribe(own, all(own));
    await stream.until(() => stream.comments.length >= 4);
    expect(stream.comments.slice(0, 4)).toEqual(['open', 'heartbeat', 'heartbeat', 'heartbeat']);
    expect(stream.events).toEqual([]);
  }));

test('streams are counted, dropped and forgotten', () =>
  withSandbox({ service: 'interface', bicycles: 10 }, async (own) => {
    const streams = [await subscribe(own, all(own)), await subscribe(own, all(own))];
    expect(own.streamCount()).toBe(2);
    own.dropStreams();
    // What happens between the cut and its news must not disturb anybody.
    own.changeBicycle(own.bicycles()[0]?.uuid ?? '', { description: 'unheard' });
    expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(['cut', 'cut']);
    expect(own.streamCount()).toBe(0);
  }));

test('a subscription ends with its token', () =>
  // A clock that stands still 50 ms before the end: the token is good however slow the machine is.
  withSandbox({ service: 'interface', bicycles: 10, now: () => Date.UTC(2026, 0, 1) + 950 }, async (own) => {
    const stream = await subscribe(own, all(own), { expiresInSeconds: 0.05 });
    expect(stream.status).toBe(200);
    expect(await stream.ended).toBe('end');
    expect((await subscribe(own, all(own))).status).toBe(200);
  }));

test('a reader that never reads is cut before it fills the memory', () =>
  withSandbox({ service: 'interface', bicycles: 10 }, async (own) => {
    const response = await fetch(`${own.sseUrl}${all(own)}`, { headers: await headersFor(own) });
    expect(own.streamCount()).toBe(1);
    const topic = `/${main(own)}/admin/bicycles/*`;
    const megabyte = 'x'.repeat(2 ** 20);
    for (let count = 0; count < 200 && own.streamCount() > 0; count += 1) {
      own.publish(topic, 'feedback', megabyte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(own.streamCount()).toBe(0);
    await response.body?.cancel().catch(() => {});
  }));

test('closing cuts subscriptions at once', async () => {
  const stream = await withSandbox({ service: 'interface', bicycles: 10 }, (own) => subscribe(own, all(own)));
  expect(await stream.ended).toBe('cut');
  await expect(openStream('http://127.0.0.1:1', '/', {})).rejects.toThrow();
});
