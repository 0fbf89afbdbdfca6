// Enables Node's compile cache (Node 22.8 and later) in a folder that only the user can write. Another
// user who could write there could run code as this user. fleet does not use a folder that fails one
// of the checks.

const fs = require('node:fs');
const { enableCompileCache } = require('node:module');
const path = require('node:path');

const OTHERS = 0o077;
const OTHERS_MAY_WRITE = 0o022;
/** In a folder with this bit, other users can create files, but cannot rename the user's files. */
const STICKY = 0o1000;

/** Returns the user's cache folder, or undefined when no variable contains its absolute path. */
function cacheHome(env) {
  if (path.isAbsolute(env.XDG_CACHE_HOME ?? '')) return env.XDG_CACHE_HOME;
  return path.isAbsolute(env.HOME ?? '') ? path.join(env.HOME, '.cache') : undefined;
}

/** Whether only the user and root can replace this folder or one of its parent folders. */
function isSafe(folder, user) {
  for (let at = path.dirname(folder); ; at = path.dirname(at)) {
    const { uid, mode } = fs.lstatSync(at);
    if (uid !== user && uid !== 0) return false;
    if ((mode & OTHERS_MAY_WRITE) !== 0 && (mode & STICKY) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}

/**
 * Returns the folder of the cache, and creates it if it is missing. Returns undefined when other
 * users can write there. Throws when the folder cannot be created.
 */
function findFolder(env, user) {
  const home = cacheHome(env);
  if (home === undefined) return undefined;
  fs.mkdirSync(home, { recursive: true, mode: 0o700 });
  const folder = path.join(fs.realpathSync(home), 'fleet');
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stat = fs.lstatSync(folder);
  const isOurs = stat.isDirectory() && stat.uid === user && (stat.mode & OTHERS) === 0;
  return isOurs && isSafe(folder, user) ? folder : undefined;
}

exports.findFolder = findFolder;

/**
 * Enables the cache if its folder is safe. An executable made by Bun contains its compiled code and
 * needs no cache. Never throws.
 */
exports.keepCompiledCode = (env) => {
  if (
    enableCompileCache === undefined ||
    process.getuid === undefined ||
    process.versions.bun !== undefined
  )
    return;
  try {
    const folder = findFolder(env, process.getuid());
    if (folder !== undefined) enableCompileCache(folder);
  } catch {
    // The disk is read-only or full. fleet then starts without a cache.
  }
};
