// What users of other tools type first, and the line that fleet answers with: a hint to paste, with nothing sent.

import { describe, expect, test } from 'vitest';
import { hintOfGuess } from '../../src/cli/suggestion.js';
import { PROGRAM } from '../support/pages.js';
import { runFleet } from '../support/run.js';
import { sendJson, withServer } from '../support/server.js';

const U = 'd238dc92-4ed5-4cec-a476-fe5f869ff26e';

const GUESSES = [
  ['get bicycles', 'bicycles list'],
  ['describe bike d238', 'bicycles get d238'],
  ['bicycles get', 'bicycles list'],
  [`update ${U} --name Ada`, `bicycles edit ${U} --name Ada`],
  ['bicycles list -a', 'bicycles list --all'],
  ['map --html', 'map -o html'],
  ['bicycles list --city Berlin', 'bicycles list --zone Berlin'],
  ['bicycles list --low-battery', "bicycles list --where 'charge<20'"],
  [`history ${U}`, `bicycles history ${U}`],
  ['bicycles list --sort name', 'bicycles list --ordering name'],
  ['orgs list', 'organizations list'],
  [`bike take_over ${U} --yes`, `bicycles act ${U} take_over --yes`],
  [`bicycles act rent ${U}`, `bicycles act ${U} rent`],
  [`retire ${U}`, `bicycles act ${U} retire`],
  [`delete bike ${U}`, `bicycles act ${U} retire`],
  ['context use sandbox', 'profile use sandbox'],
  ['apply -f x.csv', 'bicycles create --from x.csv'],
  [`alerts resolve ${U}`, `alerts act ${U} resolve`],
  [`edit bicycle ${U} --name Ada`, `bicycles edit ${U} --name Ada`],
  ['create bicycle --name Ada', 'bicycles create --name Ada'],
  ['login --base-url https://example.com', 'auth login --base-url https://example.com'],
  ['api POST /bicycles/', 'api /bicycles/ -X POST'],
  ['bicycles list --order-by=-created', 'bicycles list --ordering=-created'],
  ['bicycles list -L 5 --format json', 'bicycles list --limit 5 --output json'],
  ['bicycles list --org x -A', 'bicycles list --organization x --all'],
  ['zones', 'zones list'],
  ['status', 'doctor'],
] as const;

/** What is sent to it ends with 8. */
const UNREACHABLE = { FLEET_BASE_URL: 'http://127.0.0.1:9', FLEET_TOKEN: 'secret-token' };

describe('a wrong guess is answered with the line to paste', () => {
  test.each(GUESSES)('fleet %s', (typed, meant) => {
    expect(hintOfGuess(PROGRAM, typed.split(' '))).toBe(`did you mean: fleet ${meant}`);
    if (!meant.includes("'")) expect(hintOfGuess(PROGRAM, meant.split(' '))).toBeUndefined();
  });

  test('and sends nothing', async () => {
    const { code, stdout, stderr } = await runFleet(['bicycles', 'ls', '-n', '5'], { env: UNREACHABLE });
    expect([code, stdout, stderr]).toEqual([
      2,
      '',
      expect.stringContaining('hint: did you mean: fleet bicycles list --limit 5\n'),
    ]);
  });
});

test.each([
  ['edit', '--yas'],
  ['edit', '--nuts'],
  ['edit', '--sot'],
  ['act', '--allow-unknowm'],
])('no flag that changes more, and none far from a short one, is suggested for %s %s', async (verb, flag) => {
  const { code, stderr } = await runFleet(['bicycles', verb, U, flag, 'hi']);
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^error: unknown option '--.*'\nhint: see "fleet bicycles /),
  ]);
});

test('a name with spaces is shown in quotes', async () => {
  const { code, stderr } = await runFleet(['bicycles', 'get', 'Emmy', '0001']);
  expect(code).toBe(2);
  expect(stderr).toContain("hint: did you mean: fleet bicycles get 'Emmy 0001'\n");
});

test('a flag that the command has is not taken for one of another tool', async () => {
  const { code, stderr } = await runFleet(['alerts', 'listen', '--host', '0.0.0.0']);
  expect(code).toBe(2);
  expect(stderr).toContain('--secret-env');
  expect(stderr).not.toContain('--base-url');
});

test('a token as a flag is refused without being shown, with the ways to give it', async () => {
  const { code, stderr } = await runFleet(['bicycles', 'list', '--token', 'eyJhbGciOi']);
  expect(code).toBe(2);
  expect(stderr).toContain('the token is never a flag');
  expect(stderr).not.toContain('eyJhbGciOi');
});

test.each(['version', '--version', '-V'])('fleet %s prints the version', async (word) => {
  const { code, stdout } = await runFleet([word]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
});

test('a bicycle that is called like a transition: no other action is proposed when the question is not answered with yes', async () => {
  const env = { FLEET_BASE_URL: 'http://127.0.0.1:9', FLEET_TOKEN: 'secret-token' };
  const bicycle = { uuid: U, name: 'rent', state: 'available' };
  await withServer(
    (response) => sendJson(response, 200, { count: 1, next: null, previous: null, results: [bicycle] }),
    async ({ url }) => {
      const options = { env: { ...env, FLEET_BASE_URL: url } };
      const { code, stderr } = await runFleet(['bicycles', 'act', 'rent', 'retire'], options);
      expect(code).toBe(2);
      expect(stderr).not.toContain('did you mean');
    },
  );
});

test('what has no way back is no guess for its opposite', async () => {
  const env = { FLEET_BASE_URL: 'http://127.0.0.1:9', FLEET_TOKEN: 'abcdefgh' };
  for (const word of ['restore', 'unretire', 'require']) {
    const { code, stderr } = await runFleet(['bicycles', 'act', 'aaaaaaaa-0000-4000-8000-000000000001', word], { env });
    expect([word, code, stderr.includes('did you mean')]).toEqual([word, 2, false]);
  }
  const { stderr } = await runFleet(['bicycles', 'act', 'aaaaaaaa-0000-4000-8000-000000000001', 'retre'], { env });
  expect(stderr).toContain('did you mean "retire"?');
});
