// Writes a settings file atomically with conf.

import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { moveFile, OWN_FILE_MODE } from '../system/folder.js';

/**
 * Atomically replaces the content of a file with the result of `make`. conf writes a draft next to
 * the file. fleet replaces the file with the draft only if the size of the draft is correct. This
 * check is needed because conf does not notice that a draft is incomplete when the disk is full.
 */
export async function writeWithConf(target: string, make: () => object): Promise<void> {
  const { default: Conf } = await loadConf();
  const content = make();
  const text = `${JSON.stringify(content, undefined, 2)}\n`;
  const draft = draftOf(target);
  const [folder, name] = [dirname(draft), basename(draft)];
  try {
    removeDrafts(target);
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
    removeDrafts(target);
  }
}

const draftOf = (target: string): string => `${target}.new`;

/**
 * Returns the paths of a settings file's drafts. A killed process leaves its draft behind, and the
 * draft can contain a token.
 */
export function findDrafts(target: string): string[] {
  const [folder, name] = [dirname(target), basename(draftOf(target))];
  if (!existsSync(folder)) return [];
  // While conf writes a draft, it adds a suffix to the draft's name. Every file whose name has this
  // prefix is therefore a draft.
  const names = readdirSync(folder).filter((found) => found.startsWith(name));
  return names.map((found) => join(folder, found));
}

/** Removes the drafts of a settings file. The caller must hold the file's lock. */
export function removeDrafts(target: string): void {
  for (const draft of findDrafts(target)) rmSync(draft, { force: true });
}

/**
 * Loads conf, and removes the signal listeners that conf adds. These listeners would send each
 * signal to the process a second time, so that Ctrl-C would count twice. Loading conf takes 50 ms.
 */
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
