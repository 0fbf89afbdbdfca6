// Lets Node keep what it compiled for the next run (Node 22.8 and later), in a folder of the user's own that nobody else can write:
// whoever writes there runs code as the user. Anything doubtful about the folder means that it is not used.

const fs = require('node:fs');
const { enableCompileCache } = require('node:module');
const path = require('node:path');

const OTHERS = 0o077;
const OTHERS_MAY_WRITE = 0o022;
/** Others may write into such a folder, and rename nothing of ours there. */
const STICKY = 0o1000;

/** The user's cache folder; undefined where no absolute path names it. */
function cacheHome(env) {
  if (path.isAbsolute(env.XDG_CACHE_HOME ?? '')) return env.XDG_CACHE_HOME;
  return path.isAbsolute(env.HOME ?? '') ? path.join(env.HOME, '.cache') : undefined;
}

/** Whether nobody but the user and root can put another folder in the place of this one, or of one above it. */
function isSafe(folder, user) {
  for (let at = path.dirname(folder); ; at = path.dirname(at)) {
    const { uid, mode } = fs.lstatSync(at);
    if (uid !== user && uid !== 0) return false;
    if ((mode & OTHERS_MAY_WRITE) !== 0 && (mode & STICKY) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}

/** The folder, made when it is not there; undefined when it cannot be trusted or made. */
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

/** Turns the cache on where it can be trusted; an executable of Bun holds what was compiled. Never throws. */
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
    // A read-only or a full disk: the next run is as slow as this one.
  }
};
