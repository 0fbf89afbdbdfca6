// Prepares package.json for the tarball (`prepack`): adds the pages of the manual, and removes the
// script that builds after an installation. `restore` brings the original back (`postpack`).

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
