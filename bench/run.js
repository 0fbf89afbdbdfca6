// Runs the bench: checks the arguments, builds if asked to, starts the service of the bench and
// measures the chosen parts. `npm run bench -- --help` prints the usage.

import { execFileSync, fork } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { benchAgainst } from './against.js';
import { BINARY, isInstalled } from './measure.js';
import { findNode } from './nodes.js';
import {
  CHOSEN_NODES,
  CHOSEN_PARTS,
  NEEDS_EXECUTABLE,
  OTHER_PROGRAM,
  refuse,
  SHOULD_BUILD,
} from './options.js';
import { printGoalHeader, printGoalRow, printPairHeader, printPairRow } from './report.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Above this load the figures are useless. */
const MOST_LOAD = 0.5;

// The load is read before the build and the measurements, because it would contain both.
const [load] = loadavg();
checkNodes();
if (SHOULD_BUILD) build();
checkBuild();
printConditions();

const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
const certificate = (await isInstalled('openssl')) ? makeCertificate() : [];
const server = fork(fileURLToPath(new URL('server.js', import.meta.url)), certificate);
try {
  const [port, securePort] = await new Promise((resolve) => server.once('message', resolve));
  const url = `http://127.0.0.1:${port}`;
  const secure =
    securePort === undefined
      ? undefined
      : { url: `https://127.0.0.1:${securePort}`, authority: join(folder, 'ca.pem') };
  for (const part of CHOSEN_PARTS) await measurePart(part, url, secure);
} finally {
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}

/** Measures a part. The other parts are measured also when this part fails. */
async function measurePart(part, url, secure) {
  process.stderr.write(`measuring ${part} …\n`);
  try {
    if (OTHER_PROGRAM !== undefined) {
      printPairHeader();
      for await (const row of benchAgainst(part, url)) printPairRow(row);
      return;
    }
    printGoalHeader();
    const measures = await import(`./${part}.js`);
    const measure = Object.values(measures).find(
      (value) => typeof value === 'function' && value.name.startsWith('bench'),
    );
    for await (const row of measure(url, secure)) printGoalRow(row);
  } catch (error) {
    process.stderr.write(`error: cannot measure the rest of ${part}: ${error.message}\n`);
    process.exitCode = 1;
  }
}

/** Finds or installs the versions of Node in `--node`. */
function checkNodes() {
  for (const name of CHOSEN_NODES) {
    try {
      execFileSync(findNode(name), ['--version'], { stdio: 'ignore' });
    } catch (error) {
      refuse(
        `--node ${name} does not run: ${error.message.split('\n', 1)[0]}`,
        'pass a released version such as 24, or the path of a Node binary',
      );
    }
  }
}

function build() {
  const scripts = NEEDS_EXECUTABLE ? ['build.js', 'binary.js'] : ['build.js'];
  try {
    for (const script of scripts)
      execFileSync(process.execPath, [join(ROOT, 'scripts', script)], {
        cwd: ROOT,
        stdio: ['ignore', 2, 2],
      });
  } catch {
    process.stderr.write('error: the build failed\n');
    process.exit(1);
  }
}

function checkBuild() {
  const main = join(ROOT, 'dist', 'main.cjs');
  if (!existsSync(main)) refuse('fleet is not built: dist/main.cjs not found', 'run npm run build');
  if (NEEDS_EXECUTABLE && !existsSync(BINARY))
    process.stderr.write(
      'note: dist/fleet not found; the rows of the executable are skipped: run npm run build:binary\n',
    );
  else if (NEEDS_EXECUTABLE && statSync(BINARY).mtimeMs < statSync(main).mtimeMs)
    process.stderr.write(
      'warning: dist/fleet is older than dist/main.cjs: run npm run build:binary\n',
    );
}

/** Prints the conditions that the figures depend on. */
function printConditions() {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  console.log(
    `fleet ${version} (${commitOf(ROOT)}), Node ${process.version}, ` +
      `${availableParallelism()} processors, load ${load.toFixed(2)} before the bench`,
  );
  if (OTHER_PROGRAM !== undefined) {
    const other = join(OTHER_PROGRAM, '..', '..');
    console.log(`compared with ${other} (${commitOf(other)})`);
  }
  if (load > MOST_LOAD)
    process.stderr.write(
      `warning: the load of this machine is ${load.toFixed(2)}, above ${MOST_LOAD}: do not trust the figures\n`,
    );
}

/** Returns the abbreviated commit of a checkout, with `-dirty` after a change. */
function commitOf(root) {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty', '--exclude', '*'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown commit';
  }
}

/** Creates a certificate authority, and a certificate for this machine. */
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
