// `fleet config edit`: the settings in the operator's editor, checked before they take the place of the old ones.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from '../../context.js';
import { asFleetError, configError, FleetError, usageError } from '../../errors.js';
import { findKey, KEYS } from '../../settings/keys.js';
import { findPlace, type Place } from '../../settings/place.js';
import { checkProfileName, DEFAULT_PROFILE, parseConfig, readConfigText, replaceConfig } from '../../settings/store.js';

/** What stands in the editor where there are no settings yet. */
const EMPTY_CONFIG = `${JSON.stringify({ profiles: { [DEFAULT_PROFILE]: {} } }, undefined, 2)}\n`;

const OWNER_ONLY_MODE = 0o600;

/** Throws a FleetError of kind `config` for settings that are refused; the old ones stay, and what was written is kept beside. */
export async function editConfig(context: Context): Promise<void> {
  const { io, notice } = context;
  const place = findPlace(io.env);
  if (place.problem !== undefined) throw place.problem;
  const editor = chooseEditor(context);
  const before = readConfigText(place) ?? EMPTY_CONFIG;
  // Of mode 0700: a token command may stand in it.
  const folder = await mkdtemp(join(tmpdir(), 'fleet-config-'));
  const draft = join(folder, 'config.json');
  let isKept = false;
  try {
    await writeFile(draft, before, { mode: OWNER_ONLY_MODE });
    await runEditor(editor, draft, io.env);
    const after = await readFile(draft, 'utf8');
    if (after === before) return await notice('nothing was changed');
    await save(context, place, after).catch((thrown: unknown) => {
      isKept = true;
      const { message } = asFleetError(thrown);
      throw configError(`${message}; the settings are unchanged`, `what you wrote is in ${draft}`, thrown);
    });
  } finally {
    if (!isKept) await rm(folder, { recursive: true, force: true });
  }
}

function chooseEditor({ io }: Context): string {
  const chosen = io.env['VISUAL'] || io.env['EDITOR'];
  if (chosen !== undefined && chosen !== '') return chosen;
  if (!io.stdout.isTerminal) {
    throw usageError('an editor needs a terminal', 'set VISUAL or EDITOR, or change one value with "fleet config set"');
  }
  return process.platform === 'win32' ? 'notepad' : 'vi';
}

/** Runs the editor on the terminal, through the shell, since it may have flags: `code --wait`. */
function runEditor(editor: string, draft: string, env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    const [line, shell] =
      process.platform === 'win32' ? [`${editor} "${draft}"`, true] : [`${editor} "$FLEET_DRAFT"`, '/bin/sh'];
    const child = spawn(line, { shell, stdio: 'inherit', env: { ...env, FLEET_DRAFT: draft } });
    const failed = (how: string) =>
      configError(`the editor (${editor}) ${how}; nothing was changed`, 'set VISUAL or EDITOR');
    child.on('error', (error) => reject(failed(`could not be started: ${error.message}`)));
    child.on('close', (code, signal) =>
      code === 0 ? resolve() : reject(failed(`ended with ${signal ?? `code ${code}`}`)),
    );
  });
}

async function save({ notice }: Context, place: Place, text: string): Promise<void> {
  const { config, profiles, active } = parseConfig(text, 'what you wrote');
  const problems: string[] = [];
  const unknown: string[] = [];
  for (const [name, values] of profiles) {
    checkProfileName(name, (message, hint) => new FleetError('config', message, { hint }));
    for (const [written, value] of Object.entries(values)) {
      const key = findKey(written);
      if (key !== written) unknown.push(`${name}.${written}`);
      else if (typeof value === 'object') problems.push(`${name}.${key}: neither text nor a number nor true or false`);
      else {
        const parsed = KEYS[key].parse(String(value));
        if ('reason' in parsed) problems.push(`${name}.${key}: ${parsed.reason}`);
      }
    }
  }
  if (active !== undefined && active !== DEFAULT_PROFILE && !profiles.has(active)) {
    problems.push(`there is no profile "${active}", which "profile" names`);
  }
  if (problems.length > 0) throw configError(problems.join('; '));
  await replaceConfig(place, config);
  await notice(`saved ${place.configPath}`);
  for (const key of unknown) await notice(`warning: ${key} is not a known setting, and does nothing`);
}
