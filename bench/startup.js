// Start-up and one page: whole processes against a bare Node.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compare, environment, interleave, isInstalled, run } from './measure.js';

const ROUNDS = 21;
/** What the service of the bench does, said in the token: one page of 20. */
const TOKEN = 'total=20.size=20';

/** @returns {Promise<import('./measure.js').Row[]>} */
export async function benchStartup(url) {
  const hasGh = await isInstalled('gh');
  // `gh api` wants a token, whatever it is.
  const env = environment({ FLEET_BASE_URL: url, FLEET_TOKEN: TOKEN, GH_TOKEN: TOKEN });
  const [node, version, help, listHelp, page, gh, ghApi] = await interleave(
    [
      '"$NODE" -e 0',
      '"$NODE" "$FLEET" --version',
      '"$NODE" "$FLEET" --help',
      '"$NODE" "$FLEET" bicycles list --help',
      '"$NODE" "$FLEET" bicycles list --json -q',
      ...(hasGh ? ['gh --version', `gh api ${url}/bicycles/`] : []),
    ],
    ROUNDS,
    env,
  );
  const rows = [
    compare('fleet --version', version, node, 'node -e 0', 1.5),
    compare('fleet --help', help, node, 'node -e 0', 1.9),
    compare('fleet bicycles list --help', listHelp, node, 'node -e 0', 1.9),
    compare('one page of 20, --json', page, node, 'node -e 0', 3.0),
  ];
  if (hasGh)
    rows.push(
      compare('fleet --version', version, gh, 'gh --version', 0.75),
      compare('fleet --help', help, gh, 'gh --version', 1),
      compare('fleet bicycles list --help', listHelp, gh, 'gh --version', 1),
      compare('one page of 20, --json', page, ghApi, 'gh api', 1.2),
    );
  return [...rows, ...(await withoutFlag(env)), ...(await asPersonSees(url))];
}

/** What src/http/agent.ts buys by putting off the optimisation of undici's parser, which it does on Node 20 alone. */
async function withoutFlag(env) {
  if (!process.version.startsWith('v20.')) return [];
  const hook = fileURLToPath(new URL('without-flags.cjs', import.meta.url));
  const [page, without] = await interleave(
    ['"$NODE" "$FLEET" bicycles list --json -q', `"$NODE" -r ${hook} "$FLEET" bicycles list --json -q`],
    ROUNDS,
    env,
  );
  return [compare('one page of 20, parser optimised late', page, without, 'at once', 0.9)];
}

/** With settings from the stored profile, as a table on a terminal, which `script` lends. */
async function asPersonSees(url) {
  if (!(await isInstalled('script'))) return [];
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  try {
    const env = environment({ FLEET_CONFIG_DIR: folder, TERM: 'xterm-256color' });
    await run(`printf ${TOKEN} | "$NODE" "$FLEET" auth login --with-token --no-check --base-url ${url}`, env);
    const onTerminal = (line) => `script -qec '${line}' /dev/null`;
    const [node, table] = await interleave(
      [onTerminal('"$NODE" -e 0'), onTerminal('"$NODE" "$FLEET" bicycles list')],
      ROUNDS,
      env,
    );
    return [compare('one page of 20, stored profile, table on a terminal', table, node, 'node -e 0', 4.5)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
