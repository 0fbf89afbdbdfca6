// Readies package.json for the tarball (`prepack`): it names the pages of the manual, and builds nothing where it is installed. `restore`
// brings back the one that was there (`postpack`).

import { copyFileSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

const KEPT = 'package.json.orig';

if (process.argv[2] === 'restore') {
  renameSync(KEPT, 'package.json');
} else {
  copyFileSync('package.json', KEPT);
  const manifest = JSON.parse(readFileSync(KEPT, 'utf8'));
  delete manifest.scripts.prepare;
  const pages = (folder) => readdirSync(folder).map((name) => `${folder}/${name}`);
  manifest.man = ['dist/man/man1', 'dist/man/man7'].flatMap(pages);
  writeFileSync('package.json', `${JSON.stringify(manifest, undefined, 2)}\n`);
}
