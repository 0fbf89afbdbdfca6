// Suggestions for commands and flags of other tools.

import { expect, test } from 'vitest';
import { runFleet } from '../support/run.js';

const U = 'd238dc92-4ed5-4cec-a476-fe5f869ff26e';

test.each([
  ['get bicycles', 'bicycles get'],
  ['describe bike d238', 'bicycles get'],
  ['bicycles update', 'edit'],
  ['bicycles list -a', '--all'],
  ['bicycles list --city=Berlin', '--zone'],
  ['bicycles list --order-by=-created', '--ordering'],
  ['bicycles list -L 5', '--limit'],
  ['map --html', '--output'],
  [`bike take_over ${U} --yes`, 'act <bicycle> take_over'],
  [`retire ${U}`, 'bicycles act <bicycle> retire'],
  [`delete ${U}`, 'bicycles act <bicycle> retire'],
  [`alerts resolve ${U}`, 'act <alert> resolve'],
  [`silence ${U}`, 'alerts act <alert> silence'],
  ['bicycles create -f x.csv', '--from'],
  ['login', 'auth login'],
  ['tail', 'watch'],
  ['status', 'doctor'],
  [`bicycles wait ${U}`, 'watch --until'],
  [`bicycles edit ${U} --state rented`, 'act <bicycle> <transition>'],
  ['completion install bash', '--install'],
  ['zones list --name x', '--where'],
])(
  'suggests the command of fleet for fleet %s, a word of another tool, and sends nothing',
  async (typed, meant) => {
    const env = { FLEET_BASE_URL: 'http://127.0.0.1:9', FLEET_TOKEN: 'secret-token' };
    const { code, stderr } = await runFleet(typed.split(' '), { env });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`hint: did you mean "${meant}"? see "fleet`),
    ]);
  },
);

test.each([
  ['edit', '--yas'],
  ['edit', '--nuts'],
  ['edit', '--sot'],
  ['act', '--allow-unknowm'],
])('suggests no riskier and no distant flag for %s %s', async (verb, flag) => {
  const { code, stderr } = await runFleet(['bicycles', verb, U, flag, 'hi']);
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^error: unknown option '--.*'\nhint: see "fleet bicycles /),
  ]);
});

test.each([
  [
    'a name with spaces wants quotes',
    'bicycles get Emmy 0001',
    'hint: a name with spaces needs quotes; see "fleet',
    '?',
  ],
  [
    'prefers a flag of the command to one of another tool',
    'alerts listen --host 0.0.0.0',
    '--secret-env',
    '--base-url',
  ],
  [
    'a token is never a flag, nor shown',
    'bicycles list --token eyJhbGciOi',
    'the token is never a flag',
    'eyJhbGciOi',
  ],
])('handles the misspelled command %s', async (_what, line, said, unsaid) => {
  const { code, stderr } = await runFleet(line.split(' '));
  expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  expect(stderr).not.toContain(unsaid);
});

test('never suggests a permanent transition for its opposite', async () => {
  const env = { FLEET_BASE_URL: 'http://127.0.0.1:9', FLEET_TOKEN: 'abcdefgh' };
  for (const word of ['restore', 'unretire', 'require']) {
    const { code, stderr } = await runFleet(
      ['bicycles', 'act', 'aaaaaaaa-0000-4000-8000-000000000001', word],
      { env },
    );
    expect([word, code, stderr.includes('did you mean')]).toEqual([word, 2, false]);
  }
  const { stderr } = await runFleet(
    ['bicycles', 'act', 'aaaaaaaa-0000-4000-8000-000000000001', 'retre'],
    { env },
  );
  expect(stderr).toContain('did you mean "retire"?');
});
