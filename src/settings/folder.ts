// Locates the settings: a folder with an absolute path, never the current directory.

import { join } from 'node:path';
import { configError, type FleetError } from '../errors.js';
import { isWholePath } from '../folder.js';
import { homeOfUser } from '../user.js';

/** The paths of the settings; enough for every function that writes. */
export interface SettingsFolder {
  readonly folder: string;
  readonly configPath: string;
  readonly credentialsPath: string;
  /** Why there is no folder; the paths are empty then. */
  readonly problem?: FleetError;
}

/** Where the settings are: FLEET_CONFIG_DIR, or the folder that the platform keeps for configuration. Never throws. */
export function findPlace(env: NodeJS.ProcessEnv): SettingsFolder {
  const chosen = env['FLEET_CONFIG_DIR'];
  if (chosen !== undefined && !isWholePath(chosen)) {
    return placeless(
      `FLEET_CONFIG_DIR is ${chosen === '' ? 'empty' : `"${chosen}", which is not an absolute path`}`,
      `give the whole path, such as ${process.platform === 'win32' ? String.raw`C:\Users\ann\fleet` : '/home/ann/.config/fleet'}, or unset FLEET_CONFIG_DIR`,
    );
  }
  const folder = chosen ?? folderOfPlatform(env);
  if (folder !== undefined)
    return { folder, configPath: join(folder, 'config.json'), credentialsPath: join(folder, 'credentials.json') };
  const home = env['HOME'];
  return placeless(
    `there is no folder for the settings: ${home === undefined ? 'this user has no home folder' : `HOME is ${home === '' ? 'empty' : `"${home}", which is not an absolute path`}`}`,
    'set HOME or FLEET_CONFIG_DIR to an absolute path',
  );
}

/**
 * The folder of what is remembered between runs: XDG_STATE_HOME, beside the settings where FLEET_CONFIG_DIR chose them, or the folder that
 * the platform keeps for it; undefined where there is none. Never depends on the current directory.
 */
export function findStateFolder(env: NodeJS.ProcessEnv): string | undefined {
  const state = absolute(env['XDG_STATE_HOME']);
  if (state !== undefined) return join(state, 'fleet');
  if (env['FLEET_CONFIG_DIR'] !== undefined) return below(absolute(env['FLEET_CONFIG_DIR']), 'state');
  if (process.platform === 'win32') {
    return below(
      absolute(env['LOCALAPPDATA']) ?? below(absolute(env['USERPROFILE']), 'AppData', 'Local'),
      'fleet',
      'State',
    );
  }
  const home = homeOfUser(env);
  if (process.platform === 'darwin') return below(home, 'Library', 'Application Support', 'fleet');
  return below(home, '.local', 'state', 'fleet');
}

function placeless(message: string, hint: string): SettingsFolder {
  return { folder: '', configPath: '', credentialsPath: '', problem: configError(message, hint) };
}

function folderOfPlatform(env: NodeJS.ProcessEnv): string | undefined {
  if (process.platform === 'win32') {
    const roaming = absolute(env['APPDATA']) ?? below(absolute(env['USERPROFILE']), 'AppData', 'Roaming');
    return below(roaming, 'fleet', 'Config');
  }
  const home = homeOfUser(env);
  if (process.platform === 'darwin') return below(home, 'Library', 'Preferences', 'fleet');
  // "All paths set in these environment variables must be absolute. If … relative … consider the path invalid and ignore it."
  return below(absolute(env['XDG_CONFIG_HOME']) ?? below(home, '.config'), 'fleet');
}

function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isWholePath(path) ? path : undefined;
}

function below(folder: string | undefined, ...names: string[]): string | undefined {
  return folder === undefined ? undefined : join(folder, ...names);
}
