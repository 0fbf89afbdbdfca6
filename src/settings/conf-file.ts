// Writes a file of the settings with conf, whole or not at all.

import { readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { moveFile, OWN_FILE_MODE } from '../system/folder.js';

/**
 * Replaces the content of the file by what `make` gives, whole or not at all. conf writes a draft beside it, which is moved there once its size is right:
 * when a disk fills up, conf takes the part that was written for the whole.
 */
export async function writeWithConf(target: string, make: () => object): Promise<void> {
  const { default: Conf } = await loadConf();
  const content = make();
  const text = `${JSON.stringify(content, undefined, 2)}\n`;
  const [folder, name] = [dirname(target), `${basename(target)}.new`];
  const draft = join(folder, name);
  // Also those of runs that were killed, under the names that conf gives them while it writes.
  const removeDrafts = () => {
    for (const found of readdirSync(folder))
      if (found.startsWith(name)) rmSync(join(folder, found), { force: true });
  };
  try {
    removeDrafts();
    const options = {
      cwd: folder,
      configName: name,
      fileExtension: '',
      configFileMode: OWN_FILE_MODE,
    };
    new Conf({ ...options, accessPropertiesByDotNotation: false, serialize: () => text }).store = {
      ...content,
    };
    if (statSync(draft).size !== Buffer.byteLength(text))
      throw new Error('no space left on the device');
    moveFile(draft, target);
  } finally {
    removeDrafts();
  }
}

/** Loads conf, 50 ms, without its listeners for signals: they send each signal to the process again, and Ctrl-C would count twice. */
async function loadConf() {
  const before = new Set(signalListeners().map(([, listener]) => listener));
  const library = await import('conf');
  for (const [signal, listener] of signalListeners())
    if (!before.has(listener)) process.off(signal, listener);
  return library;
}

function signalListeners() {
  const signals = process
    .eventNames()
    .filter((name) => String(name).startsWith('SIG')) as NodeJS.Signals[];
  return signals.flatMap((signal) =>
    process.listeners(signal).map((listener) => [signal, listener] as const),
  );
}
