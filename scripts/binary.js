// Compiles the built program into one executable, dist/fleet or dist/fleet.exe: `npm run
// build:binary [-- PLATFORM]`. PLATFORM is a name that Bun uses, such as linux-x64, darwin-aarch64
// or windows-x64. The default is the platform of this machine. npm installs Bun into a separate
// folder when it is needed.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

const BUN_VERSION = '1.4.5';
const FOLDER = resolve('node_modules/.cache/bun');

const PLATFORM_NAMES = { win32: 'windows', arm64: 'aarch64' };
const ownPlatform = [process.platform, process.arch]
  .map((name) => PLATFORM_NAMES[name] ?? name)
  .join('-');
const platform = process.argv[2] ?? ownPlatform;
const isWindows = (name) => name.startsWith('windows');
const OUTPUT = isWindows(platform) ? 'dist/fleet.exe' : 'dist/fleet';

/** Returns the path of Bun for a platform. Installs Bun if it is missing. */
function bunFor(name) {
  const prefix = join(FOLDER, `${BUN_VERSION}-${name}`);
  const path = join(
    prefix,
    'node_modules/@oven',
    `bun-${name}`,
    'bin',
    isWindows(name) ? 'bun.exe' : 'bun',
  );
  if (!existsSync(path)) {
    const npm = process.env.npm_execpath;
    const [file, ...first] = npm?.endsWith('js') ? [process.execPath, npm] : ['npm'];
    // npm refuses the packages of other platforms unless it is forced.
    const args = [
      'install',
      '--no-save',
      '--force',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      '--prefix',
      prefix,
    ];
    execFileSync(file, [...first, ...args, `@oven/bun-${name}@${BUN_VERSION}`], {
      stdio: ['ignore', 2, 2],
    });
  }
  return path;
}

/**
 * The files of `dist` that are not code. The executable contains them under the same names
 * (`src/system/program-files.ts`). It creates its manual itself.
 */
const assets = readdirSync('dist').filter(
  (name) => !/\.(?:cjs|map)$|^(?:man|fleet(?:\.exe)?)$/.test(name),
);

execFileSync(
  bunFor(ownPlatform),
  [
    'build',
    '--compile',
    // Splits the code, so that a command loads only the parts that it needs. Bun splits only ES
    // modules.
    '--splitting',
    '--format=esm',
    '--bytecode',
    '--minify',
    ...(platform === ownPlatform
      ? []
      : [`--target=bun-${platform}`, `--compile-executable-path=${bunFor(platform)}`]),
    // Bun would read these files from the current directory. fleet reads settings only from
    // absolute paths.
    '--no-compile-autoload-dotenv',
    '--no-compile-autoload-bunfig',
    '--entry-naming=[name].[ext]',
    'bin/fleet.js',
    'dist/jq-worker.cjs',
    ...assets.flatMap((name) => ['--asset', `dist/${name}`]),
    '--outfile',
    OUTPUT,
  ],
  { stdio: ['ignore', 'ignore', 2] },
);
const megabytes = Math.round(statSync(OUTPUT).size / 1e6);
process.stdout.write(`${OUTPUT}: ${platform}, ${megabytes} MB\n`);
