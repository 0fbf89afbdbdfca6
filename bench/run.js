// Measures what is slow and prints one table: what, figure, peer, ratio, target, met or not. `npm run bench [-- startup lists watch bulk webhooks map page]`

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PARTS = ['startup', 'lists', 'watch', 'bulk', 'webhooks', 'map', 'page'];
const chosen = process.argv.slice(2).length > 0 ? process.argv.slice(2) : PARTS;

const server = fork(fileURLToPath(new URL('server.js', import.meta.url)));
const port = await new Promise((resolve) => server.once('message', resolve));
const url = `http://127.0.0.1:${port}`;

const rows = [];
try {
  for (const part of chosen) {
    process.stderr.write(`measuring ${part} …\n`);
    const measures = await import(`./${part}.js`);
    const measure = Object.values(measures).find(
      (value) => typeof value === 'function' && value.name.startsWith('bench'),
    );
    rows.push(...(await measure(url)));
  }
} finally {
  server.kill();
}

const cells = [
  ['what', 'figure', 'peer', 'ratio', 'target', ''],
  ...rows.map(({ what, figure, peer, ratio, most, met }) => [
    what,
    figure,
    peer,
    ratio === undefined ? '-' : ratio.toFixed(2),
    most === undefined ? '-' : `<= ${most}`,
    met === undefined ? '' : met ? 'met' : 'NOT met',
  ]),
];
const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
for (const row of cells)
  console.log(
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  );
