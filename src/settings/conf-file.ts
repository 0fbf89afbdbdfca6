// Writes a file of the settings with conf, whole or not at all.

import { readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type Conf from 'conf';
import { moveFile } from '../folder.js';

/** Readable and writable only by the owner: credentials.json holds tokens, config.json a command that is run. */
const OWNER_ONLY_MODE = 0o600;

function formatContent(content: object): string {
  return `${JSON.stringify(content, undefined, 2)}\n`;
}

/**
 * Replaces the content of the file, whole or not at all. conf writes a draft beside it, which is moved there once its size is right:
 * when a disk fills up, conf takes the part that was written for the whole.
 */
export async function writeWithConf(target: string, content: object): Promise<void> {
  const draft = `${target}.new`;
  try {
    removeDrafts(draft);
    (await openConf(draft)).store = { ...content };
    if (statSync(draft).size !== Buffer.byteLength(formatContent(content)))
      throw new Error('no space left on the device');
    moveFile(draft, target);
  } finally {
    removeDrafts(draft);
  }
}

/** Also those of runs that were killed, under the names that conf gives them while it writes. */
function removeDrafts(draft: string): void {
  for (const name of readdirSync(dirname(draft)))
    if (name.startsWith(basename(draft))) rmSync(join(dirname(draft), name), { force: true });
}

/** Writes a draft with `conf`, which takes 50 ms to load: only writers wait for it. */
async function openConf(path: string): Promise<Conf<Record<string, unknown>>> {
  const { default: Conf } = await loadConf();
  return new Conf<Record<string, unknown>>({
    cwd: dirname(path),
    configName: basename(path),
    fileExtension: '',
    configFileMode: OWNER_ONLY_MODE,
    accessPropertiesByDotNotation: false,
    serialize: formatContent,
  });
}

/** Loads conf without its listeners for signals: they send each signal to the process again, and Ctrl-C would count twice. */
async function loadConf() {
  const before = new Set(signalListeners().map(([, listener]) => listener));
  const library = await import('conf');
  for (const [signal, listener] of signalListeners()) if (!before.has(listener)) process.off(signal, listener);
  return library;
}

function signalListeners() {
  const signals = process.eventNames().filter((name) => String(name).startsWith('SIG')) as NodeJS.Signals[];
  return signals.flatMap((signal) => process.listeners(signal).map((listener) => [signal, listener] as const));
}
