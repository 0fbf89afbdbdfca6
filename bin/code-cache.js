// Loads the bundle without compiling it anew: what V8 compiled in an earlier run is kept beside the bundle, where whoever can write
// could change the program itself. It saves a short command a quarter of its time. Where nothing can be written, or Node runs with
// flags, for which it would compile otherwise, the bundle is loaded as any other file.

const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const DIST = path.join(__dirname, '../dist');
const MAIN = path.join(DIST, 'main.cjs');
/** One folder a Node: V8 refuses what another version of it compiled. */
const FOLDER = path.join(DIST, 'code-cache', `${process.version}-${process.platform}-${process.arch}`);

const HAS_FLAGS = process.execArgv.length > 0 || Boolean(process.env.NODE_OPTIONS);
/** The first is Node's own variable for its own cache of this kind. */
const IS_UNWANTED = Boolean(process.env.NODE_DISABLE_COMPILE_CACHE) || Boolean(process.env.NODE_V8_COVERAGE);

/** What was compiled anew in this run: the file, its text as V8 sees it, and the flags of V8 under which it was. */
const missed = [];

function readCached(filename) {
  try {
    return fs.readFileSync(path.join(FOLDER, path.basename(filename)));
  } catch {
    return undefined;
  }
}

/** How Node hands a CommonJS module its names. */
function wrap(file) {
  return `(function (exports, require, module, __filename, __dirname) { ${fs.readFileSync(file, 'utf8')}\n})`;
}

function run(module, filename) {
  const source = wrap(filename);
  // Of the text V8 compares the length alone. The names of all other files hold a hash of theirs.
  const isKept = filename !== MAIN;
  const cachedData = isKept ? readCached(filename) : undefined;
  const script = new vm.Script(source, {
    filename,
    cachedData,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  if (isKept && (cachedData === undefined || script.cachedDataRejected)) {
    if (missed.length === 0) process.once('exit', keepMissed);
    missed.push({ filename, source, flags: flags() });
  }
  script.runInThisContext()(module.exports, (id) => module.require(id), module, filename, path.dirname(filename));
}

/** A number that changes with V8's version and flags; V8 refuses code that was compiled under another. */
function flags() {
  return require('node:v8').cachedDataVersionTag();
}

/** Compiles every function of the missed files, not just those that were called, so that one run serves every command. */
function keepMissed() {
  try {
    fs.accessSync(DIST, fs.constants.W_OK);
    fs.mkdirSync(FOLDER, { recursive: true });
    for (const { filename, source, flags: before } of missed) {
      if (before === flags()) keep(path.join(FOLDER, path.basename(filename)), compileWhole(filename, source));
    }
  } catch {
    // A read-only or a full disk: the next run is as slow as this one.
  }
}

function compileWhole(filename, source) {
  const { setFlagsFromString } = require('node:v8');
  setFlagsFromString('--no-lazy');
  const script = new vm.Script(source, { filename });
  setFlagsFromString('--lazy');
  return script.createCachedData();
}

/** Whole or not at all, for another run may be reading. */
function keep(file, data) {
  const draft = `${file}.${process.pid}`;
  fs.writeFileSync(draft, data);
  fs.renameSync(draft, file);
}

if (!HAS_FLAGS && !IS_UNWANTED) require.extensions['.cjs'] = run;

module.exports = require(MAIN);
