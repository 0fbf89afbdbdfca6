// What users of other tools type first, and the line that fleet answers with: a hint to paste, with nothing sent.

import { describe, expect, test } from 'vitest';
import { guessLine } from '../../src/cli/guesses.js';
import { followLine, readFlag } from '../../src/cli/line.js';
import { PROGRAM } from '../support/pages.js';
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
  // The 37 of issue 28.
  ['ls', 'bicycles list'],
  ['init', 'auth login'],
  ['export', 'bicycles list --all -o csv'],
  ['mirror start', 'mirror run'],
  [`update ${U} --name Ada`, `bicycles edit ${U} --name Ada`],
  ['bicycles list -a', 'bicycles list --all'],
  ['watch --follow', 'watch'],
  ['watch --state lost', 'watch --where state=lost'],
  ['map --html', 'map -o html'],
  ['map --open', 'map --serve'],
  ['bicycles list --city Berlin', 'bicycles list --zone Berlin'],
  ['bicycles list --area Mitte', 'bicycles list --zone Mitte'],
  ['bicycles list --low-battery', "bicycles list --where 'charge<20'"],
  [`history ${U}`, `bicycles history ${U}`],
  ['profile sandbox', 'profile use sandbox'],
  ['config set url https://bikes.example.com', 'config set base_url https://bikes.example.com'],
  [`bicycles act ${U} maintenance`, `bicycles act ${U} put_in_maintenance`],
  [`bicycles act ${U} available`, `bicycles act ${U} declare_available`],
  [`bicycles act ${U} lost --yes`, `bicycles act ${U} declare_lost --yes`],
  ['completion', 'completion bash'],
  ['bicycles search emmy', 'bicycles list --name emmy'],
  ['bicycles list emmy', 'bicycles list --name emmy'],
  ['bicycles list --sort charge', 'bicycles list --ordering=charge'],
  [`bicycles ${U} rent`, `bicycles act ${U} rent`],
  [`bicycles ${U}`, `bicycles get ${U}`],
  [`bicycles log ${U}`, `bicycles history ${U}`],
  ['zones ls', 'zones list'],
  ['orgs list', 'organizations list'],
  [`bicycles edit ${U} --set note=hi`, `bicycles edit ${U} --field note=hi`],
  [`bicycles list ${U}`, `bicycles get ${U}`],
  [`bicycles rent ${U}`, `bicycles act ${U} rent`],
  [`bike take_over ${U} --yes`, `bicycles act ${U} take_over --yes`],
  [`bicycles act rent ${U}`, `bicycles act ${U} rent`],
  [`bicycles do ${U} retire`, `bicycles act ${U} retire`],
  [`retire ${U}`, `bicycles act ${U} retire`],
  [`act ${U} rent`, `bicycles act ${U} rent`],
  [`bicycles delete ${U}`, `bicycles act ${U} retire`],
  [`delete bike ${U}`, `bicycles act ${U} retire`],
  [`rm ${U}`, `bicycles act ${U} retire`],
  // What newcomers typed.
  ['bicycles list --sort -charge', 'bicycles list --ordering=-charge'],
  ['alerts watch --interval 5s', 'alerts watch --every 5s'],
  ['config get-contexts', 'profile list'],
  ['context use sandbox', 'profile use sandbox'],
  ['import x.csv', 'bicycles create --from x.csv'],
  ['bicycles import x.csv', 'bicycles create --from x.csv'],
  ['create -f x.csv --yes', 'bicycles create --from x.csv --yes'],
  ['apply -f x.csv', 'bicycles create --from x.csv'],
  ['bicycles create -f x.csv', 'bicycles create --from x.csv'],
  [`bicycles edit ${U} note=hi`, `bicycles edit ${U} --field note=hi`],
  ['live', 'watch --live'],
  ['bicycles list available', 'bicycles list --state available'],
  ['bicycles emmy-7 reserve', 'bicycles act emmy-7 reserve'],
  ['auth login --user me@example.org', 'auth login --email me@example.org'],
  ['sandbox --bikes 10', 'sandbox --bicycles 10'],
  ['upgrade', 'help install'],
  [`alerts resolve ${U}`, `alerts act ${U} resolve`],
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
  ['bicycles list --sort state', 'bicycles list --ordering=state'],
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
  ['status', 'doctor'],
  ['bicycles list --battery 30', "bicycles list --where 'charge<30'"],
  ['bicycles list --charge-below 30 -q', "bicycles list --where 'charge<30' -q"],
  ['bicycles list --export', 'bicycles list -o csv'],
  ['alerts list --today', "alerts list --where 'created>-1d'"],
  ['alerts list --days 7', "alerts list --where 'created>-7d'"],
  ['alerts list --desc', 'alerts list --ordering=-created'],
  ['zones get Mitte', 'zones list'],
  ['gbfs feed --out x', 'gbfs --out x'],
  ['gbfs validate --out x', 'gbfs --check --out x'],
  ['gbfs serve 4040', 'gbfs --serve 4040'],
  ['gbfs --dir x', 'gbfs --out x'],
  ['zone list', 'zones list'],
  ['orgs', 'organizations list'],
  ['profile add prod', 'auth login --profile prod'],
  ['mock', 'sandbox'],
] as const;

/** What is sent to it ends with 8. */
const UNREACHABLE = { FLEET_BASE_URL: 'http://127.0.0.1:9', FLEET_TOKEN: 'secret-token' };

describe('a wrong guess is answered with the line to paste', () => {
  test.each(GUESSES)('fleet %s', async (typed, meant) => {
    const { code, stdout, stderr } = await runFleet(typed.split(' '), { env: UNREACHABLE });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`hint: did you mean: fleet ${meant}\n`);
  });

  test('which fleet understands', () => {
    for (const [, meant] of GUESSES) {
      if (meant.includes("'")) continue;
      const { command } = followLine(PROGRAM, meant.split(' '));
      expect([meant, command.commands.length]).toEqual([meant, 0]);
      expect([meant, guessLine(meant.split(' '), (word) => readFlag(command, word).option !== undefined)]).toEqual([
        meant,
        undefined,
      ]);
    }
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
