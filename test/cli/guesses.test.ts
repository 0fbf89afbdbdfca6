// What users of other tools type first, and the line that fleet answers with: a hint to paste, with nothing sent.

import { describe, expect, test } from 'vitest';
import { guessLine } from '../../src/cli/guesses.js';
import { followLine } from '../../src/cli/line.js';
import { buildQuietProgram } from '../support/pages.js';
import { runFleet } from '../support/run.js';
import { sendJson, withServer } from '../support/server.js';

const U = 'd238dc92-4ed5-4cec-a476-fe5f869ff26e';

const GUESSES = [
  ['get bicycles', 'bicycles list'],
  ['list bikes', 'bicycles list'],
  ['ls alerts', 'alerts list'],
  [`get bicycle ${U}`, `bicycles get ${U}`],
  ['describe bike d238', 'bicycles get d238'],
  ['bicycles ls', 'bicycles list'],
  ['bicycles list --wide', 'bicycles list -o wide'],
  ['bicycles list --no-trunc', 'bicycles list --no-truncate'],
  ['bicycles all', 'bicycles list'],
  ['bicycles get', 'bicycles list'],
  [`bicycles view ${U}`, `bicycles get ${U}`],
  [`bicycles show ${U} -q`, `bicycles get ${U} -q`],
  ['bicycles find d238', 'bicycles get d238'],
  [`bicycles list ${U}`, `bicycles get ${U}`],
  [`bicycles rent ${U}`, `bicycles act ${U} rent`],
  [`bike take_over ${U} --yes`, `bicycles act ${U} take_over --yes`],
  [`bicycles act rent ${U}`, `bicycles act ${U} rent`],
  [`bicycles do ${U} retire`, `bicycles act ${U} retire`],
  [`retire ${U}`, `bicycles act ${U} retire`],
  [`act ${U} rent`, `bicycles act ${U} rent`],
  [`bicycles delete ${U}`, 'bicycles act --help'],
  [`alerts resolve ${U}`, `alerts act ${U} resolve`],
  [`alerts ack ${U}`, 'alerts act --help'],
  [`bicycles update ${U} --name Ada`, `bicycles edit ${U} --name Ada`],
  [`edit bicycle ${U} --name Ada`, `bicycles edit ${U} --name Ada`],
  ['bicycles new --name Ada', 'bicycles create --name Ada'],
  ['create bicycle --name Ada', 'bicycles create --name Ada'],
  ['bicycles count', 'bicycles list --count'],
  ['bicycles export', 'bicycles list --all -o csv'],
  ['bicycles watch', 'watch'],
  ['tail', 'watch'],
  ['alerts ls', 'alerts list'],
  ['login --base-url https://example.com', 'auth login --base-url https://example.com'],
  ['logout', 'auth logout'],
  ['whoami', 'auth status'],
  ['config view', 'config list'],
  ['config use-context sandbox', 'profile use sandbox'],
  ['profile switch sandbox', 'profile use sandbox'],
  ['use sandbox', 'profile use sandbox'],
  ['api GET /bicycles/', 'api /bicycles/'],
  ['api POST /bicycles/', 'api /bicycles/ -X POST'],
  ['curl /bicycles/', 'api /bicycles/'],
  ['bicycles list --sort state', 'bicycles list --ordering state'],
  ['bicycles list --order-by=-created', 'bicycles list --ordering=-created'],
  ['bicycles list -n 5', 'bicycles list --limit 5'],
  ['bicycles list -L 5 --format json', 'bicycles list --limit 5 --output json'],
  ['bicycles list --csv', 'bicycles list -o csv'],
  ['bicycles list --filter state=lost', 'bicycles list --where state=lost'],
  ['bicycles list --org x -A', 'bicycles list --organization x --all'],
  [`bicycles act ${U} retire --force`, `bicycles act ${U} retire --yes`],
  [`bicycles rename ${U} Ada`, `bicycles edit ${U} --name Ada`],
  [`bicycles wait ${U}`, `watch --bicycle ${U} --until state=available`],
  ['bicycles list -l 5', 'bicycles list --limit 5'],
  ['bicycles list -l state=lost', 'bicycles list --where state=lost'],
  ['status', 'doctor'],
  ['mock', 'sandbox'],
] as const;

describe('a wrong guess is answered with the line to paste', () => {
  test.each(GUESSES)('fleet %s', async (typed, meant) => {
    await withServer(
      (response) => void response.end(),
      async ({ url, asked }) => {
        const env = { FLEET_BASE_URL: url, FLEET_TOKEN: 'secret-token' };
        const { code, stdout, stderr } = await runFleet(typed.split(' '), { env });
        expect([code, stdout]).toEqual([2, '']);
        expect(stderr).toContain(`hint: did you mean: fleet ${meant}\n`);
        expect(asked).toEqual([]);
      },
    );
  });

  test('which fleet understands', () => {
    for (const [, meant] of GUESSES) {
      const { command } = followLine(buildQuietProgram(), meant.split(' '));
      expect([meant, command.commands.length]).toEqual([meant, 0]);
      expect([meant, guessLine(meant.split(' '))]).toEqual([meant, undefined]);
    }
  });
});

test.each([
  ['alerts resolve --type lock.bat.low', 'alerts list --all --type lock.bat.low', 'alerts act - resolve'],
  ['alerts act resolve --state new -y', 'alerts list --all --state new', 'alerts act - resolve'],
  ['bicycles act take_over --state lost', 'bicycles list --all --state lost', 'bicycles act - take_over'],
])('the filters of a list belong in front of act: fleet %s', async (typed, list, act) => {
  const { code, stdout, stderr } = await runFleet(typed.split(' '));
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(`hint: did you mean: fleet ${list} -o uuid | fleet ${act}\n`);
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
