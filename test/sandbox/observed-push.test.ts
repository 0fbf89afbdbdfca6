// The push channel as it was observed: concrete topics, no links, leaving messages, no alerts, children's topics, no replay on request.
import { expect, test } from 'vitest';
import type { Sandbox, ServedTransition } from '../../src/sandbox/index.js';
import { headersFor, useSandbox, withSandbox } from '../support/sandbox.js';
import { openStream, type Stream } from './stream.js';

const sandbox = useSandbox({ bicycles: 60 });

const organization = (own: Sandbox, index = 0) => own.organizations[index]?.uuid ?? '';

async function subscribe(own: Sandbox, topic: string, lastEventId?: number): Promise<Stream> {
  const encoded = encodeURIComponent(topic).replaceAll('*', '%2A');
  const last = lastEventId === undefined ? {} : { 'Last-Event-ID': String(lastEventId) };
  return openStream(own.sseUrl, `/subscribe/${encoded}/`, { ...(await headersFor(own)), ...last });
}

const all = (own: Sandbox, index = 0) => `/${organization(own, index)}/admin/bicycles/*`;

function bicycleIn(own: Sandbox, state: string): string {
  const uuid = own.bicycles(organization(own))[0]?.uuid ?? '';
  own.changeBicycle(uuid, { state });
  return uuid;
}

test('the envelope names the bicycle, also for a subscription to all; links are missing, the version is there', async () => {
  const uuid = bicycleIn(sandbox(), 'available');
  const topic = `/${organization(sandbox())}/admin/bicycles/${uuid}/`;
  const streams = [await subscribe(sandbox(), all(sandbox())), await subscribe(sandbox(), topic)];
  const bicycle = sandbox().changeBicycle(uuid, { description: 'two\nlines' });
  const { ...expected } = bicycle;
  for (const field of [
    'model',
    'lock',
    'image_url',
    'url',
    'organization',
    'devices',
    'reservation',
    'rental_session',
  ]) {
    delete expected[field];
  }
  for (const stream of streams) {
    await stream.until(() => stream.events.length > 0);
    expect(stream.events[0]?.data).toEqual({ topic, sender: 'bicycle', message: expected });
    expect(stream.events[0]?.data.message['concurrency_version']).toBe(bicycle.concurrency_version);
    stream.close();
  }
});

test.each<[ServedTransition, string, boolean]>([
  ['reserve', 'available', true],
  ['rent', 'available', true],
  ['rent', 'reserved', true],
  ['take_over', 'lost', true],
  ['put_in_maintenance', 'available', true],
  ['declare_lost', 'available', false],
  ['declare_unrecoverable', 'available', false],
  ['return', 'rented', false],
  ['force_put_in_maintenance', 'rented', false],
])('%s from %s: announced %s, with the state that is left alone', async (transition, state, isAnnounced) => {
  const uuid = bicycleIn(sandbox(), state);
  const before = sandbox().pushLog.length;
  sandbox().act(uuid, transition);
  const lines = sandbox().pushLog.slice(before);
  expect(lines.map(({ sender }) => sender)).toEqual(isAnnounced ? ['bicycle_leaving_state', 'bicycle'] : ['bicycle']);
  if (isAnnounced) expect(JSON.parse(lines[0]?.message ?? '')).toEqual({ state });
  for (const line of lines) expect(line.envelopeTopic).toBe(`/${organization(sandbox())}/admin/bicycles/${uuid}/`);
});

test('alerts are not pushed, and have no topic', async () => {
  const before = sandbox().pushLog.length;
  sandbox().raiseAlert(bicycleIn(sandbox(), 'lost'), 'lock.shutdown');
  expect(
    sandbox()
      .pushLog.slice(before)
      .map(({ sender }) => sender),
  ).toEqual(['bicycle']);
  expect((await subscribe(sandbox(), `/${organization(sandbox())}/admin/alerts/*`)).status).toBe(404);
});

test.each(['admin', 'fleet_operator', 'mechanic'])(
  '%s has topics of its own, which a token must name',
  async (role) => {
    const own = sandbox();
    const topic = `/${organization(own)}/${role}/bicycles/*`;
    const path = `/subscribe/${encodeURIComponent(topic).replaceAll('*', '%2A')}/`;
    const named = await openStream(own.sseUrl, path, await headersFor(own, { affiliations: [role] }));
    const uuid = bicycleIn(own, 'available');
    await named.until(() => named.events.length > 0);
    expect(named.events[0]?.data.topic).toBe(`/${organization(own)}/${role}/bicycles/${uuid}/`);
    named.close();
    expect((await openStream(own.sseUrl, path, await headersFor(own, { affiliations: ['other'] }))).status).toBe(403);
  },
);

test('the bicycles of a child come on a topic of their own', async () => {
  const own = sandbox();
  const parent = await subscribe(own, all(own));
  const children = await subscribe(own, `/${organization(own)}/*/admin/bicycles/*`);
  const uuid = own.bicycles(organization(own, 1))[0]?.uuid ?? '';
  own.changeBicycle(uuid, { description: 'of the child' });
  own.changeBicycle(bicycleIn(own, 'available'), { description: 'of the parent' });
  await parent.until(() => parent.events.length >= 2);
  await children.until(() => children.events.length > 0);
  expect(children.events.map(({ data }) => data.topic)).toEqual([`/${organization(own, 1)}/admin/bicycles/${uuid}/`]);
  expect(parent.events.map(({ data }) => data.message['description'])).not.toContain('of the child');
  parent.close();
  children.close();
});

test.each([[false], [true]])('what was missed is replayed, unless a fault says no: %s', (isLost) =>
  withSandbox({ bicycles: 10, faults: isLost ? [{ kind: 'noreplay' }] : [] }, async (own) => {
    const uuid = bicycleIn(own, 'available');
    const seen = own.pushLog.at(-1)?.id ?? 0;
    own.changeBicycle(uuid, { description: 'missed' });
    const stream = await subscribe(own, all(own), seen);
    own.changeBicycle(uuid, { description: 'live' });
    await stream.until(() => stream.events.some(({ data }) => data.message['description'] === 'live'));
    expect(stream.events.map(({ data }) => data.message['description'])).toEqual(
      isLost ? ['live'] : ['missed', 'live'],
    );
    stream.close();
  }),
);

test('a step of the date neither drops nor stalls a subscription', () => {
  let now = Date.UTC(2026, 10, 21);
  const faults = [{ kind: 'drop', milliseconds: 3_600_000 }] as const;
  return withSandbox({ bicycles: 10, now: () => now, faults: [...faults] }, async (own) => {
    const stream = await subscribe(own, all(own));
    now += 2 * 3_600_000;
    own.setFaults([...faults]);
    own.changeBicycle(bicycleIn(own, 'lost'), { description: 'still here' });
    await stream.until(() => stream.events.length >= 2);
    now -= 4 * 3_600_000;
    const versions = [1, 2].map(() => own.changeBicycle(bicycleIn(own, 'lost'), {}).concurrency_version ?? 0);
    expect(versions[1]).toBeGreaterThan(versions[0] ?? 0);
    stream.close();
  });
});
