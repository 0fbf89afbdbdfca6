// Suggestions for commands and flags of other tools.

import { expect, test } from 'vitest';
import { splitLine } from '../../src/cli/split.js';
import { runFleet } from '../support/run.js';

const U = 'd238dc92-4ed5-4cec-a476-fe5f869ff26e';

const env = {
  FLEET_BASE_URL: 'http://127.0.0.1:9',
  FLEET_TOKEN: 'secret-token',
  FLEET_RETRIES: '0',
};

/** What users type, and the line that is suggested. A guess with spaces in a word is a list. */
const GUESSES: readonly (readonly [typed: string | readonly string[], meant: string])[] = [
  [`bicycles ${U} rent`, `bicycles act ${U} rent`],
  [`bicycles rent ${U}`, `bicycles act ${U} rent`],
  [`bike take_over ${U} --yes`, `bicycles act ${U} take_over --yes`],
  [`retire ${U}`, `bicycles act ${U} retire`],
  ['bicycles act reserve SN-1', 'bicycles act SN-1 reserve'],
  ['act reserve SN-1', 'bicycles act SN-1 reserve'],
  ['bicycles edit -f x.csv', 'bicycles edit --from x.csv'],
  ['bicycles create -f x.csv', 'bicycles create --from x.csv'],
  [`bicycles history ${U} --last 7d`, `bicycles history ${U} --since 7d`],
  [['bicycles', 'get', 'Emmy', '0001'], "bicycles get 'Emmy 0001'"],
  ['list London', 'bicycles list --name London, or: fleet bicycles list --zone London'],
  [
    ['bicycles', 'list', 'Bike 0'],
    "bicycles list --name 'Bike 0', or: fleet bicycles list --zone 'Bike 0'",
  ],
  ['list --city Berlin', 'bicycles list --zone Berlin'],
  ['bicycles list --sort charge', 'bicycles list --ordering charge'],
  ['bicycles list --order-by=-created', 'bicycles list --ordering -created'],
  ['bicycles list -a', 'bicycles list --all'],
  ['bicycles list -L 5', 'bicycles list --limit 5'],
  ['bicycles list --top 5', 'bicycles list --limit 5'],
  ['bicycles list --limit 0', 'bicycles list --all'],
  ['bicycles list --limit all', 'bicycles list --all'],
  ['bicycles list -o name', 'bicycles list --output uuid'],
  ['bicycles list --search x', 'bicycles list --name x'],
  ['bicycles list -s x', 'bicycles list --name x'],
  ['bicycles list --query x', 'bicycles list --name x'],
  ['bicycles list --near Berlin', 'bicycles list --near 52.52,13.4 --radius 1km'],
  ['bicycles list --near 52.52 13.40', 'bicycles list --near 52.52,13.40 --radius 1km'],
  [
    'bicycles list --near 52.52 13.40 --radius 500',
    'bicycles list --near 52.52,13.40 --radius 500',
  ],
  ['alerts list --type battery', 'alerts list --type lock.bat.low'],
  ['alerts --type battery', 'alerts list --type lock.bat.low'],
  ['alerts --state open', 'alerts list --state new,escalated'],
  ['journal list', 'help bulk'],
  ['gbfs validate', 'help gbfs'],
  ['alerts list --type low_battery', 'alerts list --type lock.bat.low'],
  ['alerts list --state open', 'alerts list --state new,escalated'],
  ['alert show', 'alerts list'],
  [`alerts resolve ${U}`, `alerts act ${U} resolve`],
  [`silence ${U}`, `alerts act ${U} silence`],
  ['man', 'help'],
  ['help dates', 'help conditions'],
  ['transitions', 'help states'],
  ['states', 'help states'],
  ['top', 'watch --live'],
  ['watch -f', 'watch'],
  ['watch --follow', 'watch'],
  ['map --open', 'map --serve'],
  ['bicycles stats --last 7d', 'bicycles stats --since 7d --by day'],
  ['health', 'doctor'],
  ['doctor --fix', 'doctor'],
  ['mirror query rentals', "mirror query 'select * from rentals limit 10'"],
  ['mirror query .tables', 'help mirror'],
  ['mirror query \\d', 'help mirror'],
  ['mirror start', 'mirror run'],
  ['mirror sync', 'mirror once'],
  ['mirror tables', 'help mirror'],
  ['config set output=json', 'config set output json'],
  ['config get', 'config list'],
  ['profile create berlin', 'auth login --profile berlin'],
  ['gbfs serve', 'gbfs --serve 8080'],
  ['org list', 'organizations list'],
  ['org use Berlin', 'config set organization Berlin'],
  ['users list', 'api /users/'],
  ['journal run.jsonl', 'journal show run.jsonl'],
  ['completion', 'completion bash'],
];

test.each(GUESSES)(
  'suggests a complete command line for `fleet %s`, and sends nothing',
  async (typed, meant) => {
    const words = typeof typed === 'string' ? typed.split(' ') : typed;
    const { code, stderr } = await runFleet(words, { env });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`hint: did you mean: fleet ${meant}\n`),
    ]);
  },
);

/** Commands that run until they are stopped, or change the settings. */
const ENDLESS = /^(?:watch|map --serve|gbfs|mirror run|config set)/;

test.each(GUESSES.filter(([, meant]) => !ENDLESS.test(meant)))(
  'suggests a command line that fleet accepts for `fleet %s`',
  async (_typed, meant) => {
    for (const line of meant.split(', or: fleet ')) {
      const { stderr } = await runFleet(splitLine(line), { env });
      expect(stderr).not.toMatch(/did you mean|--help|unknown|must be/);
    }
  },
);

test.each([
  ['retire listen lost all', 'bicycles act listen lost all retire'],
  ['resolve d238 low', 'alerts act d238 low resolve'],
  ['states show', 'help states'],
  ['list -otable x', 'bicycles list --name x -otable, or: fleet bicycles list --zone x -otable'],
  ['man states', 'help states'],
  ['man bicycles list', 'help bicycles list'],
])('suggests the correct word order for `fleet %s`', async (typed, meant) => {
  const { code, stderr } = await runFleet(typed.split(' '), { env });
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining(`hint: did you mean: fleet ${meant}\n`),
  ]);
});

test.each([
  ['act', 'take_over', '', 'rent'],
  ['man', 'retire', 'London'],
  ['help', 'update', '--columns', '-o', 'wide'],
  ['help', 'history', '--no-headers=hour'],
  ['bike', 'act', '--silent=rent', 'London'],
  ['bicycles', 'list', '--page', '2', '--output=wide', '--all'],
  ['bicycles', 'list', '--limit=x'],
  ['silence', 'run', '-y=xlsx'],
  ['stats', '-1'],
  ['act', 'rent', '-', '-f', 'x.csv'],
  ['-1', 'bicycles', 'list', 'rentals'],
  ['bicycles', 'act', 'rent', 'x.csv', '--set', 'charge'],
  ['act', 'rent', 'SN-1', '--from', 'x.csv'],
])('does not suggest a complete command line for `fleet %j`', async (...typed) => {
  const { code, stderr } = await runFleet(typed, { env });
  expect([code, stderr]).toEqual([2, expect.not.stringContaining('did you mean: fleet')]);
});

test('suggests a pipe when `bicycles act` gets filter flags', async () => {
  const { code, stderr } = await runFleet(['bicycles', 'act', '--state', 'available', 'reserve'], {
    env,
  });
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining(
      'did you mean: fleet bicycles list --state available --all --output uuid | fleet bicycles act - reserve\n',
    ),
  ]);
});

test.each([
  ['get bicycles', 'bicycles get'],
  ['describe bike d238', 'bicycles get'],
  ['bicycles update', 'edit'],
  ['map --html', '--output'],
  [`delete ${U}`, 'bicycles act <bicycle> retire'],
  ['login', 'auth login'],
  ['tail', 'watch'],
  ['status', 'doctor'],
  [`bicycles wait ${U}`, 'watch --until'],
  [`bicycles edit ${U} --state rented`, 'act <bicycle> <transition>'],
  ['completion install bash', '--install'],
  ['zones list --name x', '--where'],
  ['bicycles act -f x.csv', '--from'],
])('suggests the equivalent fleet command for `fleet %s`', async (typed, meant) => {
  const { code, stderr } = await runFleet(typed.split(' '), { env });
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining(`hint: did you mean "${meant}"? see "fleet`),
  ]);
});

test.each([
  ['edit', '--yas'],
  ['edit', '--nuts'],
  ['edit', '--sot'],
  ['act', '--allow-unknowm'],
])('does not suggest an unrelated or riskier flag: %s %s', async (verb, flag) => {
  const { code, stderr } = await runFleet(['bicycles', verb, U, flag, 'hi']);
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^error: unknown option '--.*'\nhint: see "fleet bicycles /),
  ]);
});

test.each([
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
])('handles an unknown flag: %s', async (_what, line, said, unsaid) => {
  const { code, stderr } = await runFleet(line.split(' '));
  expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  expect(stderr).not.toContain(unsaid);
});

test('never suggests an irreversible transition in place of its opposite', async () => {
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
