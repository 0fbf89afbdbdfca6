// Start-up and one page: whole processes against a bare Node.

import { compare, environment, interleave, isInstalled } from './measure.js';

const ROUNDS = 21;

/** @returns {Promise<import('./measure.js').Row[]>} */
export async function benchStartup(url) {
  const bare = '"$NODE" -e 0';
  const lines = [
    bare,
    '"$NODE" "$FLEET" --version',
    '"$NODE" "$FLEET" --help',
    '"$NODE" "$FLEET" bicycles list --help',
    '"$NODE" "$FLEET" bicycles list --json -q',
  ];
  const hasGh = await isInstalled('gh');
  if (hasGh) lines.push('gh --version');
  const env = environment({ FLEET_BASE_URL: url, FLEET_TOKEN: 'total=20.size=20' });
  const [node, version, help, listHelp, page, gh] = await interleave(lines, ROUNDS, env);
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
    );
  return rows;
}
