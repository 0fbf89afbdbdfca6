// `fleet config edit`: opens the settings in the operator's editor, and checks the new settings
// before they replace the old ones.

import { spawn } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../../context.js';
import { asFleetError, configError, messageOf, reasonOf, usageError } from '../../errors.js';
import { findPlace, type SettingsFolder } from '../../settings/config-folder.js';
import { findKey } from '../../settings/keys.js';
import { checkProfileName, DEFAULT_PROFILE } from '../../settings/profile-name.js';
import { explainSettings } from '../../settings/resolve.js';
import { parseConfig, readSettingsFile, replaceConfig } from '../../settings/store.js';
import { makeFolder, OWN_FILE_MODE, OWN_FOLDER_MODE } from '../../system/folder.js';
import { describeEnd } from '../../system/shell.js';

/** The text that the editor shows when there are no settings. */
const EMPTY_CONFIG = `${JSON.stringify({ profiles: { [DEFAULT_PROFILE]: {} } }, undefined, 2)}\n`;

/**
 * Edits the settings. Throws a FleetError of kind `config` when the new settings are invalid. In
 * this case, the old settings stay in place and the edited text is kept as a draft.
 */
export async function editConfig(context: Context): Promise<void> {
  const { io, notice } = context;
  const place = findPlace(io.env);
  const editor = chooseEditor(context);
  const before = readSettingsFile(place.configPath) ?? EMPTY_CONFIG;
  const draft = join(place.folder, `edit-${process.pid}.json`);
  const refuseDraft = (error: unknown): never => {
    throw configError(
      `the copy to edit, ${draft}, cannot be used: ${reasonOf(error)}; nothing was changed`,
    );
  };
  let isKept = false;
  try {
    await makeFolder(place.folder, OWN_FOLDER_MODE).catch(refuseDraft);
    await writeFile(draft, before, { mode: OWN_FILE_MODE }).catch(refuseDraft);
    await runEditor(context, editor, draft);
    const after = await readFile(draft, 'utf8').catch(refuseDraft);
    if (after === before) return await notice('nothing was changed');
    await save(context, place, { before, after }).catch((thrown: unknown) => {
      isKept = true;
      const message = `what you wrote cannot be used: ${messageOf(thrown)}; the settings are unchanged`;
      throw configError(message, `what you wrote is in ${draft}`, thrown);
    });
  } finally {
    if (!isKept) await rm(draft, { force: true });
  }
}

function chooseEditor({ io }: Context): string {
  const chosen = io.env['VISUAL'] || io.env['EDITOR'];
  if (chosen !== undefined && chosen !== '') return chosen;
  if (!io.stdout.isTerminal) {
    throw usageError(
      'an editor needs a terminal',
      'set VISUAL or EDITOR, or change one value with "fleet config set"',
    );
  }
  return process.platform === 'win32' ? 'notepad' : 'vi';
}

/**
 * Runs the editor on the terminal. A shell parses the command, which may contain flags, such as
 * `code --wait`. Ctrl-C goes only to the editor. SIGTERM and SIGHUP end the editor and fleet.
 */
async function runEditor(
  { io, signal, urgentSignal }: Context,
  editor: string,
  draft: string,
): Promise<void> {
  const line =
    process.platform === 'win32' ? `${editor} "${draft}"` : `exec env ${editor} "$FLEET_DRAFT"`;
  const child = spawn(line, {
    shell: true,
    stdio: 'inherit',
    env: { ...io.env, FLEET_DRAFT: draft },
  });
  await new Promise<void>((resolve, reject) => {
    const refuse = (how: string) =>
      reject(
        configError(`the editor (${editor}) ${how}; nothing was changed`, 'set VISUAL or EDITOR'),
      );
    const onAbort = ({ currentTarget }: Event) => {
      const { reason } = currentTarget as AbortSignal;
      if (asFleetError(reason).kind === 'interrupted') return;
      child.kill('SIGTERM');
      child.unref();
      reject(reason);
    };
    for (const each of [signal, urgentSignal]) each.addEventListener('abort', onAbort);
    child.on('error', (error) => refuse(`could not be started: ${error.message}`));
    child.on('close', (code, killedBy) =>
      code === 0 ? resolve() : refuse(describeEnd({ code, killedBy }, 'failed')),
    );
  });
}

async function save(
  { notice }: Context,
  place: SettingsFolder,
  { before, after }: { before: string; after: string },
): Promise<void> {
  const { config, profiles, active } = parseConfig(after);
  checkNewNames([...profiles.keys()], profileNamesIn(before));
  const problems = [...profiles.keys()].flatMap((profile) => {
    const settings = explainSettings({
      flags: { profile },
      env: {},
      stored: { ...place, active, profiles },
    });
    return Object.values(settings).flatMap(({ problem }) => problem?.message ?? []);
  });
  if (active !== undefined && active !== DEFAULT_PROFILE && !profiles.has(active)) {
    problems.push(`there is no profile "${active}", which the setting "profile" selects`);
  }
  if (problems.length > 0) throw configError(problems.join('; '));
  await replaceConfig(place, config);
  await notice(`saved ${place.configPath}`);
  for (const [profile, values] of profiles)
    for (const key of Object.keys(values))
      if (findKey(key) !== key)
        await notice(`warning: ${profile}.${key} is not a known setting and has no effect`);
}

/**
 * Checks the names of new profiles. New names are also compared with each other. Names from the old
 * settings are accepted, because older versions of fleet allowed them.
 */
function checkNewNames(names: readonly string[], namesBefore: ReadonlySet<string>): void {
  const accepted = new Set(names.filter((name) => namesBefore.has(name)));
  for (const name of names) {
    checkProfileName(name, accepted);
    accepted.add(name);
  }
}

/**
 * Returns the profile names in the settings. Returns no names when the settings are invalid. It
 * does not throw, because `config edit` must be able to repair invalid settings.
 */
function profileNamesIn(text: string): ReadonlySet<string> {
  try {
    return new Set(parseConfig(text).profiles.keys());
  } catch {
    return new Set();
  }
}
