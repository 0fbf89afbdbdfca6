// Tests the faults of the sandbox: their spelling and their effects.

import { expect, test } from 'vitest';
import { type Fault, parseFault, type Sandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { runFleet } from '../support/run.js';
import { headersFor, openSandbox, withSandbox } from '../support/sandbox.js';
import { actOn, ask, bicycleIn } from './ask.js';
import { openStream } from './stream.js';

test.each<[string, Fault]>([
  ['latency=200ms', { kind: 'latency', milliseconds: 200 }],
  ['latency=1.5s', { kind: 'latency', milliseconds: 1500 }],
  ['error=503:5%', { kind: 'error', status: 503, share: 0.05 }],
  ['error=429:10%', { kind: 'error', status: 429, share: 0.1 }],
  ['error=500', { kind: 'error', status: 500, share: 1 }],
  ['error=503:2x', { kind: 'error', status: 503, share: 1, times: 2 }],
  ['cut=5%', { kind: 'cut', share: 0.05 }],
  ['cut=1x', { kind: 'cut', share: 1, times: 1 }],
  ['drop=30s', { kind: 'drop', milliseconds: 30_000 }],
  ['stall=2m', { kind: 'stall', milliseconds: 120_000 }],
  ['noreplay', { kind: 'noreplay' }],
  ['resend', { kind: 'resend' }],
  ['norented', { kind: 'norented' }],
  ['shrink', { kind: 'shrink' }],
  ['nocount', { kind: 'nocount' }],
  ['nodate', { kind: 'nodate' }],
  ['links', { kind: 'links' }],
  ['linkheader', { kind: 'linkheader' }],
  ['latin1', { kind: 'latin1' }],
  ['trim', { kind: 'trim' }],
  ['lag=3s', { kind: 'lag', milliseconds: 3000 }],
  ['cache=1m', { kind: 'cache', milliseconds: 60_000 }],
  ['throttle=5s', { kind: 'throttle', milliseconds: 5000 }],
  ['expire=1h', { kind: 'expire', milliseconds: 3_600_000 }],
])('%s', (text, fault) => expect(parseFault(text)).toEqual(fault));

test.each(
  ' |latency|latency=|latency=5|latency=-5ms|latency=5 ms|drop=5%|error=5%|error=200:5%|error=503:|error=503:101%|error=503:1.5x|cut=5s|cut|slow=5s|Drop=30s'.split(
    '|',
  ),
)('rejects "%s" and lists the valid forms', (text) => {
  expect(() => parseFault(text)).toThrow(`"${text}"; faults: latency=200ms, error=503:5%`);
});

const list = (own: Sandbox) => ask(own, '/bicycles/');
const rent = (own: Sandbox, uuid: string) => actOn(own, uuid, { type: 'rent' });

async function subscribe(own: Sandbox) {
  const path = `/subscribe/%2F${own.organizations[0]?.uuid}%2Fadmin%2Fbicycles%2F%2A/`;
  return openStream(own.sseUrl, path, await headersFor(own));
}

test('the fault `latency` delays every response on both ports', () =>
  withSandbox({ bicycles: 10, faults: [parseFault('latency=150ms')] }, async (own) => {
    for (const deed of [list, subscribe]) {
      const start = performance.now();
      expect((await deed(own)).status).toBe(200);
      expect(performance.now() - start).toBeGreaterThan(140);
    }
  }));

test('the faults `nocount` and `nodate` remove the count and the date header', () =>
  withSandbox({ bicycles: 30, faults: ['nocount', 'nodate'].map(parseFault) }, async (own) => {
    expect((await fetch(own.baseUrl)).headers.get('date')).toBeNull();
    expect((await list(own)).body).toEqual({
      next: expect.any(String),
      previous: null,
      results: expect.any(Array),
    });
  }));

test.each(['links', 'linkheader', 'latin1'] as const)(
  'fleet reads the same bicycles and counts with the fault %s',
  (name) =>
    withSandbox({ bicycles: 45, faults: [parseFault(name)] }, async (own) => {
      const env = await environmentOf(own);
      const all = await runFleet(['bicycles', 'list', '--all', '--json'], { env });
      expect(all).toEqual({ code: 0, stdout: expect.any(String), stderr: '' });
      expect(JSON.parse(all.stdout)).toEqual(own.bicycles());
      const count = await runFleet(['bicycles', 'list', '--count'], { env });
      expect(count.stdout).toBe(`${own.bicycles().length}\n`);
    }),
);

test('the fault `lag` returns older data for list requests', () =>
  withSandbox({ bicycles: 10, faults: [parseFault('lag=1h')] }, async (own) => {
    const { body } = await list(own);
    await rent(own, bicycleIn(own, 'available'));
    expect((await list(own)).body).toEqual(body);
  }));

test('the fault `cache` returns cached responses with their age and date', () =>
  withSandbox({ bicycles: 10, faults: [parseFault('cache=1h')] }, async (own) => {
    const first = await list(own);
    expect(first.headers.get('Age')).toBe(null);
    await rent(own, bicycleIn(own, 'available'));
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const copy = await list(own);
    expect(copy.body).toEqual(first.body);
    expect(Number(copy.headers.get('Age'))).toBeGreaterThanOrEqual(1);
    const dates = [first, copy].map(({ headers }) => Date.parse(headers.get('Date') ?? ''));
    expect(dates[1]).toBeLessThanOrEqual((dates[0] ?? 0) + 1_000);
  }));

test('the fault `error` returns an error body and trace headers', () =>
  withSandbox(
    { bicycles: 10, faults: [parseFault('error=429:1x'), parseFault('error=503:1x')] },
    async (own) => {
      const uuid = bicycleIn(own, 'available');
      const throttled = await rent(own, uuid);
      expect([throttled.status, throttled.headers.get('Retry-After')]).toEqual([429, '1']);
      expect(throttled.headers.get('X-Service-RequestId')).toMatch(/^[0-9a-f-]{36}$/);
      expect(throttled.body).toEqual({
        detail: [{ message: expect.any(String), code: 'throttled' }],
      });
      const broken = await rent(own, uuid);
      expect([broken.status, broken.headers.get('Retry-After')]).toEqual([503, null]);
      expect(own.actionCount(uuid)).toBe(0);
      expect((await rent(own, uuid)).status).toBe(200);
      expect(own.actionCount(uuid)).toBe(1);
    },
  ));

test('the fault `cut` carries out the request and then closes the socket', () =>
  withSandbox({ bicycles: 10 }, async (own) => {
    const uuid = bicycleIn(own, 'available');
    own.setFaults([parseFault('cut=1x')]);
    await expect(rent(own, uuid)).rejects.toThrow();
    expect([own.actionCount(uuid), own.bicycle(uuid)?.state]).toEqual([1, 'rented']);
    expect(own.requests.at(-1)?.status).toBe(0);
    expect((await rent(own, uuid)).status).toBe(400);
    own.setFaults([parseFault('cut=1x')]);
    await expect(subscribe(own)).rejects.toThrow();
    expect((await subscribe(own)).status).toBe(200);
  }));

test('the fault `drop` closes each subscription after the given time', () =>
  withSandbox({ bicycles: 10, faults: [parseFault('drop=50ms')] }, async (own) => {
    for (let count = 0; count < 2; count += 1)
      expect(await (await subscribe(own)).ended).toBe('cut');
    expect((await list(own)).status).toBe(200);
  }));

test('the fault `stall` stops messages and heartbeats but keeps the subscription open', () =>
  withSandbox({ bicycles: 10, heartbeatMs: 10 }, async (own) => {
    const stalled = await subscribe(own);
    await stalled.until(() => stalled.comments.length > 2);
    own.setFaults([parseFault('stall=0ms')]);
    // Messages in flight may still arrive.
    let length = -1;
    while (length !== stalled.comments.length) {
      length = stalled.comments.length;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    own.changeBicycle(bicycleIn(own, 'available'), { description: 'unheard' });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect([stalled.comments.length, stalled.events.length, own.streamCount()]).toEqual([
      length,
      0,
      1,
    ]);
    own.setFaults([]);
    await stalled.until(() => stalled.comments.length > length);
  }));

test('the fault `expire` shortens the lifetime of tokens', async () => {
  let now = Date.UTC(2026, 0, 1);
  const own = await openSandbox({
    bicycles: 10,
    now: () => now,
    faults: [parseFault('expire=60s')],
  });
  const headers = await headersFor(own);
  expect((await ask(own, '/bicycles/', { headers })).status).toBe(200);
  now += 60_000;
  expect((await ask(own, '/bicycles/', { headers })).status).toBe(401);
  expect((await list(own)).status).toBe(200);
});

test('the fault `expire` ends open subscriptions, including those with new tokens', () =>
  // The clock stands still 50 ms before the tokens expire, so they are valid on a machine of any
  // speed.
  withSandbox({ bicycles: 10, now: () => Date.UTC(2026, 0, 1) + 950 }, async (own) => {
    const first = await subscribe(own);
    own.setFaults([parseFault('expire=1ms')]);
    expect(await first.ended).toBe('end');
    const second = await subscribe(own);
    expect(second.status).toBe(200);
    expect(await second.ended).toBe('end');
  }));

test('the fault `throttle` returns 429 for repeated requests for the same bicycle', async () => {
  let now = Date.UTC(2026, 10, 21);
  const own = await openSandbox({
    bicycles: 10,
    now: () => now,
    faults: [parseFault('throttle=5s')],
  });
  const uuid = bicycleIn(own, 'available');
  const takeOver = (token = {}) => actOn(own, uuid, { type: 'take_over' }, { token });
  expect((await takeOver()).status).toBe(200);
  const again = await takeOver();
  expect([again.status, again.headers.get('Retry-After')]).toEqual([429, '5']);
  expect((await takeOver({ role: 'admin' })).status).toBe(200);
  now += 5000;
  expect((await takeOver()).status).toBe(200);
});
