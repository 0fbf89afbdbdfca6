// Tests the role of a topic: from the claims of the token, after a 403, and from --role.

import { expect, test } from 'vitest';
import { topicsByRole } from '../../src/api/push.js';
import { environmentOf } from '../support/environment.js';
import { openMisbehaving, sendStatus, sendStream } from '../support/misbehaving.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 20, rate: 20 });

const ORGANIZATION = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
const TOPIC = `/${ORGANIZATION}/admin/bicycles/*`;
const as = (role: string) => `/${ORGANIZATION}/${role}/bicycles/*`;

test.each<[string, readonly string[], 'mechanic' | undefined, readonly string[]]>([
  ['a token that names no roles', [], undefined, [TOPIC]],
  ['one role', ['fleet_operator'], undefined, [as('fleet_operator')]],
  [
    'several: admin first',
    ['mechanic', 'renter', 'admin'],
    undefined,
    [TOPIC, as('mechanic'), as('renter')],
  ],
  ['a renter', ['renter'], undefined, [as('renter')]],
  ['a role without a topic', ['accountant'], undefined, [TOPIC]],
  ['--role', ['admin'], 'mechanic', [as('mechanic')]],
])('the role of the token determines the subscribed topics: %s', (_name, named, asked, topics) => {
  expect(topicsByRole(TOPIC, named, asked)).toEqual(topics);
});

test('tries the role from the topic first if the token has it', () => {
  expect(topicsByRole(as('mechanic'), ['admin', 'mechanic'], undefined)).toEqual([
    as('mechanic'),
    TOPIC,
  ]);
  expect(topicsByRole(`/${ORGANIZATION}/*/admin/bicycles/*`, ['mechanic'], 'mechanic')).toEqual([
    `/${ORGANIZATION}/*/admin/bicycles/*`,
  ]);
});

async function operatorOf(affiliations: readonly string[]) {
  const organization = sandbox().organizations[0]?.uuid ?? '';
  const env = {
    ...(await environmentOf(sandbox())),
    FLEET_TOKEN: await sandbox().token({ affiliations }),
  };
  return { organization, env, uuid: sandbox().bicycles(organization)[0]?.uuid ?? '' };
}

test('a non-admin can follow the organization, a bicycle and an admin topic', async () => {
  const { organization, env, uuid } = await operatorOf(['fleet_operator']);
  const follow = (...args: string[]) =>
    runFleet(['watch', ...args, '--max-events', '1', '--json', '-v'], { env });
  const all = await follow(organization);
  expect(all.code).toBe(0);
  expect(JSON.parse(all.stdout).topic).toContain('/fleet_operator/bicycles/');
  expect(all.stderr).toContain(
    `subscribed as fleet_operator: /${organization}/fleet_operator/bicycles/*`,
  );
  setTimeout(() => sandbox().changeBicycle(uuid, { description: 'seen' }), 1_000);
  expect((await follow(organization, '--bicycle', uuid, '--resync-pages', '0')).code).toBe(0);
  expect((await follow('--topic', `/${organization}/admin/bicycles/*`)).code).toBe(0);
});

test('`doctor` shows the role of its subscription, which --role can change', async () => {
  const { organization, env } = await operatorOf(['fleet_operator', 'mechanic']);
  const examine = (...args: string[]) =>
    runFleet(['doctor', ...args], { env: { ...env, FLEET_ORGANIZATION: organization } });
  expect((await examine()).stdout).toContain('subscribed as fleet_operator after');
  expect((await examine('--role', 'mechanic')).stdout).toContain('subscribed as mechanic after');
  expect((await examine('--role', 'admin')).stdout).toMatch(/FAIL.*push.*HTTP 403/i);
});

test('tries the remaining roles after a 403 unless --role is given', async () => {
  const push = await openMisbehaving((socket, { path }) => {
    if (path.includes('admin')) sendStatus(socket, 403);
    else sendStream(socket, 'data: {"sender":"task","message":{}}\n\n');
  });
  const claims = { affs: { [ORGANIZATION]: ['mechanic', 'admin'] } };
  const token = ['{"alg":"none"}', JSON.stringify(claims), 'x'].map((part) =>
    Buffer.from(part).toString('base64url'),
  );
  const env = { FLEET_BASE_URL: push.url, FLEET_SSE_URL: push.url, FLEET_TOKEN: token.join('.') };
  const watch = (...args: string[]) =>
    runFleet(['watch', ORGANIZATION, '--max-events', '1', '--resync-pages', '0', ...args], { env });
  const got = await watch('-v');
  expect([got.code, got.stderr]).toEqual([0, expect.stringContaining('subscribed as mechanic')]);
  expect(got.stderr).toContain(`watching ${as('mechanic')}`);
  expect(push.requests.map(({ path }) => decodeURIComponent(path))).toEqual([
    `/subscribe/${TOPIC}/`,
    `/subscribe/${as('mechanic')}/`,
  ]);
  const refused = await watch('--role', 'admin');
  expect([refused.code, refused.stderr]).toEqual([
    4,
    expect.stringContaining(`the subscription to ${TOPIC}`),
  ]);
});

const USER = '0d6f3a1f-2f0e-4c56-9d3a-6f1c0b5e7c11';

test.each([
  ['renter', as('renter')],
  ['spectator', as('spectator')],
  ['user', as(USER)],
])('--role %s subscribes to %s', async (role, topic) => {
  const push = await openMisbehaving((socket) =>
    sendStream(socket, 'data: {"sender":"bicycle","message":{}}\n\n'),
  );
  const claims = { sub: USER, affs: { [ORGANIZATION]: ['renter'] } };
  const token = ['{"alg":"none"}', JSON.stringify(claims), 'x']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');
  const env = { FLEET_BASE_URL: push.url, FLEET_SSE_URL: push.url, FLEET_TOKEN: token };
  const args = ['watch', ORGANIZATION, '--role', role, '--max-events', '1', '--resync-pages', '0'];
  const run = await runFleet(args, { env });
  expect([run.code, run.stderr]).toEqual([0, expect.stringContaining(`watching ${topic}`)]);
  expect(push.requests.map(({ path }) => decodeURIComponent(path))).toEqual([
    `/subscribe/${topic}/`,
  ]);
});

test('the error suggests --topic when no role of the token may subscribe', async () => {
  const push = await openMisbehaving((socket) => sendStatus(socket, 403));
  const env = { FLEET_BASE_URL: push.url, FLEET_SSE_URL: push.url, FLEET_TOKEN: 'opaque-token' };
  const run = await runFleet(['watch', ORGANIZATION, '--resync-pages', '0'], { env });
  expect([run.code, run.stderr]).toEqual([4, expect.stringContaining('name a topic with --topic')]);
});
