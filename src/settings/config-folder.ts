// Finds the settings folder. The path of this folder is absolute, so the current directory has no
// influence on it.

import { join } from 'node:path';
import { configError, type FleetError } from '../errors.js';
import { fromGitBash, isWholePath } from '../system/folder.js';
import { homeOfUser } from '../system/user.js';

/**
 * The paths of the settings folder and its files. Every function that writes settings needs them.
 */
export interface SettingsFolder {
  readonly folder: string;
  readonly configPath: string;
  readonly credentialsPath: string;
}

/**
 * Returns the paths of the settings: in FLEET_CONFIG_DIR, or in the platform's configuration
 * folder. Throws a FleetError of kind `config` when the folder is not an absolute path.
 */
export function findPlace(env: NodeJS.ProcessEnv): SettingsFolder {
  const { FLEET_CONFIG_DIR: chosen } = env;
  const folder = chosen === undefined ? folderOfPlatform(env, 'config') : absolute(chosen);
  if (folder !== undefined)
    return {
      folder,
      configPath: join(folder, 'config.json'),
      credentialsPath: join(folder, 'credentials.json'),
    };
  throw chosen === undefined ? noPlatformFolder(env) : refuseChosen(chosen);
}

/** Creates the error for a user without a home folder. */
function noPlatformFolder(env: NodeJS.ProcessEnv): FleetError {
  const variable = process.platform === 'win32' ? 'APPDATA' : 'HOME';
  return configError(
    `there is no folder for the settings: ${variable} is "${env[variable] ?? ''}", which is not an absolute path`,
    `set ${variable} or FLEET_CONFIG_DIR to an absolute path`,
  );
}

function refuseChosen(path: string): FleetError {
  const isWindows = process.platform === 'win32';
  const example = isWindows ? 'C:\\Users\\ann\\fleet' : '/home/ann/.config/fleet';
  const set = `set FLEET_CONFIG_DIR to an absolute path such as ${example}, or unset it`;
  const windowsPath = isWindows ? fromGitBash(path) : path;
  return configError(
    `there is no folder for the settings: FLEET_CONFIG_DIR is "${path}", which is not an absolute path`,
    isWholePath(windowsPath) ? `did you mean ${windowsPath}? ${set}` : set,
  );
}

/**
 * Returns the folder for data that fleet keeps from one run to the next. It is below
 * XDG_STATE_HOME, below FLEET_CONFIG_DIR, or in the platform's state folder. Undefined when none of
 * these paths is absolute. The result never depends on the current directory.
 */
export function findStateFolder(env: NodeJS.ProcessEnv): string | undefined {
  const { XDG_STATE_HOME: state, FLEET_CONFIG_DIR: chosen } = env;
  if (absolute(state) === undefined && chosen !== undefined)
    return below(absolute(chosen), 'state');
  return below(absolute(state), 'fleet') ?? folderOfPlatform(env, 'state');
}

/**
 * The folders for settings and for state on each platform. An entry for Windows contains the
 * environment variable, the folder to use without this variable, and the subfolder. An entry for
 * another platform contains the folder below HOME.
 */
const PLATFORM = {
  config: { windows: ['APPDATA', 'Roaming', 'Config'], mac: 'Preferences', linux: '.config' },
  state: {
    windows: ['LOCALAPPDATA', 'Local', 'State'],
    mac: 'Application Support',
    linux: '.local/state',
  },
} as const;

function folderOfPlatform(env: NodeJS.ProcessEnv, what: keyof typeof PLATFORM): string | undefined {
  const { windows, mac, linux } = PLATFORM[what];
  if (process.platform === 'win32') {
    const [variable, data, name] = windows;
    return below(
      absolute(env[variable]) ?? below(absolute(env['USERPROFILE']), 'AppData', data),
      'fleet',
      name,
    );
  }
  const home = homeOfUser(env);
  if (process.platform === 'darwin') return below(home, 'Library', mac, 'fleet');
  // XDG specification: "All paths set in these environment variables must be absolute. If …
  // relative … consider the path invalid and ignore it."
  const chosen = what === 'config' ? absolute(env['XDG_CONFIG_HOME']) : undefined;
  return below(chosen ?? below(home, linux), 'fleet');
}

function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isWholePath(path) ? path : undefined;
}

function below(folder: string | undefined, ...names: string[]): string | undefined {
  return folder === undefined ? undefined : join(folder, ...names);
}
