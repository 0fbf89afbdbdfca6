// Runs the bench and prints a row as soon as it is measured: name, figure, peer, ratio, target, and
// whether the target is met. `npm run bench [-- startup lists watch bulk webhooks mirror map page
// rounds] [--rounds N] [--node 24] [--against PATH]`

import { execFileSync, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AGAINST, CHOSEN_PARTS, isInstalled } from './measure.js';

/** The widths of the columns. A wider cell moves the following cells. */
const WIDTHS = [64, 24, 44, 5, 7, 7];

const PARTS = ['startup', 'lists', 'watch', 'bulk', 'webhooks', 'mirror', 'map', 'page', 'rounds'];
const chosen = AGAINST !== undefined ? ['against'] : CHOSEN_PARTS.length > 0 ? CHOSEN_PARTS : PARTS;

const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));

/**
 * Creates a certificate authority and a certificate for this machine. Returns undefined without
 * openssl.
 */
function makeCertificate() {
  const openssl = (line) =>
    execFileSync('openssl', line.split(' '), { cwd: folder, stdio: 'ignore' });
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj';
  openssl(`req -x509 ${key} /CN=authority -days 3 -keyout ca.key -out ca.pem`);
  openssl(
    `req ${key} /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out request.pem`,
  );
  openssl(
    'x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -copy_extensions copy -days 3 -out cert.pem',
  );
  return [join(folder, 'key.pem'), join(folder, 'cert.pem')];
}

const certificate = (await isInstalled('openssl')) ? makeCertificate() : [];
const server = fork(fileURLToPath(new URL('server.js', import.meta.url)), certificate);
const [port, securePort] = await new Promise((resolve) => server.once('message', resolve));
const url = `http://127.0.0.1:${port}`;
const secure =
  securePort === undefined
    ? undefined
    : { url: `https://127.0.0.1:${securePort}`, authority: join(folder, 'ca.pem') };

/** Above this load the figures are useless. */
const MOST_LOAD = 0.5;

try {
  for (const part of chosen) {
    const [load] = loadavg();
    if (load > MOST_LOAD)
      process.stderr.write(
        `warning: the load of this machine is ${load.toFixed(2)}, above ${MOST_LOAD}: do not trust the figures\n`,
      );
    process.stderr.write(`measuring ${part} …\n`);
    const measures = await import(`./${part}.js`);
    const measure = Object.values(measures).find(
      (value) => typeof value === 'function' && value.name.startsWith('bench'),
    );
    printRow(['what', 'figure', 'peer', 'ratio', 'target', '']);
    for await (const { what, figure, peer, ratio, most, met } of measure(url, secure))
      printRow([
        what,
        figure,
        peer,
        ratio === undefined ? '-' : ratio.toFixed(2),
        most === undefined ? '-' : `<= ${most}`,
        met === undefined ? '' : met ? 'met' : 'NOT met',
      ]);
  }
} finally {
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}

function printRow(cells) {
  console.log(
    cells
      .map((cell, column) => cell.padEnd(WIDTHS[column]))
      .join('  ')
      .trimEnd(),
  );
}
