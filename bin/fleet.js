#!/usr/bin/env node
// Passes the arguments and the standard streams to main, and sets the exit code. The syntax of this
// file works on Node 8, so that an old Node can print that it is too old.

const OLDEST = '20.18.1';

function isTooOld() {
  const [major, minor, patch] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor, oldestPatch] = OLDEST.split('.').map(Number);
  return (major - oldestMajor || minor - oldestMinor || patch - oldestPatch) < 0;
}

/** Returns the standard streams that are terminals. */
function findTerminals() {
  const { isatty } = require('node:tty');
  return [0, 1, 2].filter((fd) => isatty(fd));
}

// Closes the standard streams whose terminal was closed. At exit, Node restores the mode of each
// terminal, and aborts with a core dump when that fails (ResetStdio in node.cc). It skips closed
// streams. Other streams, such as /dev/null, stay open, because Node closes them itself and a second
// close would fail.
function closeGoneTerminals(terminals) {
  const { closeSync, fstatSync } = require('node:fs');
  const { isatty } = require('node:tty');
  for (const fd of terminals) {
    try {
      if (fstatSync(fd).isCharacterDevice() && !isatty(fd)) closeSync(fd);
    } catch (_error) {
      // The stream is closed already.
    }
  }
}

if (isTooOld()) {
  process.stderr.write(
    `error: fleet needs Node ${OLDEST} or later; ${process.execPath} is ${process.versions.node}\n`,
  );
  process.exitCode = 3;
} else {
  if (require('node:module').enableCompileCache !== undefined)
    require('./compile-cache.js').keepCompiledCode(process.env);
  const { main, systemClock } = require('../dist/main.cjs');
  // Removes Node's own listener, which prints warnings, for example about experimental features. main
  // adds its own.
  process.removeAllListeners('warning');
  // This code remains if Node exits before main has ended, because nothing is left to wait for.
  process.exitCode = 1;
  const onIdle = () => {
    const hint =
      'hint: this is a bug in fleet; run it again with --verbose and report what it prints';
    process.stderr.write(`error: nothing is left that the command could wait for\n${hint}\n`);
  };
  process.once('beforeExit', onIdle);
  const terminals = findTerminals();
  let isAbandoned = false;
  let stdin;
  main(process.argv.slice(2), {
    // Node creates each stream on first access, which takes time.
    get stdin() {
      stdin = process.stdin;
      return stdin;
    },
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    env: process.env,
    signals: process,
    abandon() {
      isAbandoned = true;
    },
    clock: systemClock(),
  }).then((exitCode) => {
    process.removeListener('beforeExit', onIdle);
    process.exitCode = exitCode;
    // An open stdin must not keep the process running.
    if (stdin !== undefined) stdin.destroy();
    if (stdin !== undefined && stdin.unref !== undefined) stdin.unref();
    closeGoneTerminals(terminals);
    // Without this, output that no reader takes would keep the process running forever, and a name
    // server that does not answer would keep it running for ten seconds.
    if (isAbandoned) process.exit();
  });
}
