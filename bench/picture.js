// Draws the pictures of the README: runs commands in a terminal against a sandbox, and writes their
// output as SVG. `npm run picture [-- session map]` needs `script` of util-linux for the terminal.

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import stringWidth from 'string-width';
import { PROGRAM } from './measure.js';

const CELL = { width: 8.4, height: 19 };
const MARGIN = 18;
const TITLE_HEIGHT = 30;
const FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const INK = '#d0d7de';
const PAPER = '#161b22';
/** The eight colours of a terminal by their number. */
const COLOURS = [
  '#6e7681',
  '#ff7b72',
  '#7ee787',
  '#e3b341',
  '#79c0ff',
  '#d2a8ff',
  '#76e3ea',
  '#f0f6fc',
];

/**
 * The lines of each picture as they are typed, and the size of its terminal. `$LOST` and `$FREE`
 * are bicycles of the sandbox.
 */
const PICTURES = {
  session: {
    file: 'picture.svg',
    title:
      'A session of fleet: the lowest batteries, a change and a refused one, a watch with a gap, and the board of the fleet',
    columns: 92,
    rows: 22,
    lines: [
      'fleet bicycles list --ordering state_of_charge --limit 5',
      'fleet bicycles act $FREE rent',
      'fleet bicycles act $LOST rent',
      'fleet watch --for 8s',
      'fleet watch --live --for 8s',
    ],
  },
  map: {
    file: 'map.svg',
    title:
      'The fleet as fleet map draws it: clusters around the world, then each bicycle of one city',
    columns: 118,
    rows: 25,
    lines: ['fleet map', 'fleet map --near 52.52,13.405 --radius 8km'],
  },
};

/** The sandbox closes each stream after this time, so that a watch reports a gap. */
const DROP = 'drop=5s';

function quote(word) {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Runs a line in a terminal with this number of columns. Returns the written text. */
function onTerminal(line, env, { columns, rows } = PICTURES.session) {
  const script = `stty cols ${columns} rows ${rows}; bash -c ${quote(line)}`;
  const child = spawn('script', ['-qec', script, '/dev/null'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks = [];
  child.stdout.on('data', (chunk) => chunks.push(chunk));
  return new Promise((resolve) =>
    child.on('close', () => resolve(Buffer.concat(chunks).toString())),
  );
}

async function record(picture) {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-picture-'));
  const env = {
    PATH: `${folder}:${process.env.PATH}`,
    HOME: folder,
    LANG: 'C.UTF-8',
    SHELL: '/bin/sh',
    TERM: 'xterm',
    FLEET_CONFIG_DIR: join(folder, 'settings'),
  };
  await writeFile(
    join(folder, 'fleet'),
    `#!/bin/sh\nexec ${quote(process.execPath)} ${quote(PROGRAM)} "$@"\n`,
    {
      mode: 0o755,
    },
  );
  const sandbox = spawn(
    'fleet',
    ['sandbox', '--port', '0', '--sse-port', '0', '--rate', '1.2', '--fault', DROP],
    {
      env,
    },
  );
  try {
    await new Promise((resolve) => sandbox.stderr.once('data', resolve));
    await onTerminal('fleet profile use sandbox', env);
    const find = async (state) =>
      (
        await onTerminal(
          `fleet bicycles list --all --where state=${state} --limit 1 -o uuid -q`,
          env,
        )
      ).trim();
    const bicycles = {
      LOST: (await find('lost')).slice(0, 8),
      FREE: (await find('available')).slice(0, 8),
    };
    let text = '';
    for (const line of picture.lines) {
      const typed = line.replace(/\$([A-Z]+)/g, (_, name) => bicycles[name]);
      text += `\u001b[36m$\u001b[39m \u001b[1m${typed}\u001b[22m\r\n${lastFrame(await onTerminal(typed, env, picture))}\r\n`;
    }
    return text;
  } finally {
    sandbox.kill('SIGINT');
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the last screen of a full-screen program, and the text after it left the full screen. A
 * frame contains only the changed lines.
 */
function lastFrame(text) {
  const end = text.lastIndexOf('\u001b[?1049l');
  if (end === -1) return text;
  const frames = text
    .slice(text.lastIndexOf('\u001b[?1049h', end), end)
    .replace(/\u001b\[\?\d+[hl]/g, '');
  const lines = [];
  for (const [, row, line] of frames.matchAll(
    /\u001b\[(\d+);1H\u001b\[2K(.*?)(?=\u001b\[\d+;1H\u001b\[2K|$)/gs,
  ))
    lines[Number(row) - 1] = line;
  const shown = Array.from(lines, (line = '') => `${line}\r\n`);
  return `${shown.join('')}${text.slice(end).replace(/\u001b\[\?\d+[hl]/g, '')}`;
}

/** Returns the final content of the terminal: rows of pieces with column, text and style. */
function readScreen(text, columns) {
  const rows = [[]];
  let look = {};
  let column = 0;
  const nextRow = () => {
    rows.push([]);
    column = 0;
  };
  for (const [token, codes, ending] of text.matchAll(
    /\u001b\[([\d;?]*)([A-Za-z])|\r\n|\r|[^\u001b\r]+/g,
  )) {
    if (ending === 'm') look = codes.split(';').reduce(paint, look);
    else if (ending === 'K') rows.push(rows.pop().filter((piece) => piece.column < column));
    else if (token === '\r\n') nextRow();
    else if (token === '\r') column = 0;
    else if (ending === undefined) {
      let left = token;
      while (column + left.length > columns) {
        const room = columns - column;
        rows.at(-1).push({ column, text: left.slice(0, room), look });
        left = left.slice(room);
        nextRow();
      }
      rows.at(-1).push({ column, text: left, look });
      column += stringWidth(left);
    }
  }
  return rows;
}

function paint(look, code) {
  const number = Number(code);
  if (number === 0) return {};
  if (number === 1) return { ...look, isBold: true };
  if (number === 2) return { ...look, isDim: true };
  if (number === 7) return { ...look, isInverse: true };
  if (number === 22) return { ...look, isBold: false, isDim: false };
  if (number === 27) return { ...look, isInverse: false };
  if (number === 39) return { ...look, colour: undefined };
  if (number >= 30 && number <= 37) return { ...look, colour: COLOURS[number - 30] };
  if (number >= 90 && number <= 97) return { ...look, colour: COLOURS[number - 90] };
  return look;
}

function asXml(text) {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(' ', '\u00a0');
}

function drawPiece({ column, text, look }, row) {
  const x = (MARGIN + column * CELL.width).toFixed(1);
  const y = TITLE_HEIGHT + MARGIN + row * CELL.height;
  const width = (stringWidth(text) * CELL.width).toFixed(1);
  const colour = look.isInverse ? PAPER : look.colour;
  const ground = `<rect x="${x}" y="${y - CELL.height * 0.75}" width="${width}" height="${CELL.height}" fill="${look.colour ?? INK}"/>`;
  const style = [
    colour === undefined ? '' : ` fill="${colour}"`,
    look.isBold ? ' font-weight="bold"' : '',
    look.isDim ? ' opacity="0.65"' : '',
  ].join('');
  return `${look.isInverse ? ground : ''}<text x="${x}" y="${y}" textLength="${width}"${style}>${asXml(text)}</text>`;
}

function drawPicture(rows, { title, columns }) {
  const width = Math.ceil(2 * MARGIN + columns * CELL.width);
  const height = TITLE_HEIGHT + MARGIN + rows.length * CELL.height;
  const buttons = ['#ff5f57', '#febc2e', '#28c840'].map(
    (colour, index) => `<circle cx="${20 + index * 20}" cy="18" r="6" fill="${colour}"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${title}</title>`,
    `<rect width="${width}" height="${height}" rx="10" fill="${PAPER}"/>`,
    ...buttons,
    `<g font-family="${FONT}" font-size="14" fill="${INK}">`,
    ...rows.flatMap((pieces, row) =>
      pieces
        .filter(({ text, look }) => text.trim() !== '' || look.isInverse)
        .map((piece) => drawPiece(piece, row)),
    ),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PICTURES);
for (const name of chosen) {
  const picture = PICTURES[name];
  const rows = readScreen((await record(picture)).trimEnd(), picture.columns);
  await writeFile(
    fileURLToPath(new URL(picture.file, import.meta.url)),
    drawPicture(rows, picture),
  );
}
