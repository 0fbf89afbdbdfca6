#!/usr/bin/env node
// Hands the arguments and the real streams to main, and sets the exit code; nothing else. Written in the JavaScript of Node 8, so that
// an old Node reaches the line that says it is too old.

const OLDEST = '20.18.1';

function isTooOld() {
  const [major, minor, patch] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor, oldestPatch] = OLDEST.split('.').map(Number);
  return (major - oldestMajor || minor - oldestMinor || patch - oldestPatch) < 0;
}

/** Returns those of the standard streams that are terminals. */
function findTerminals() {
  const { isatty } = require('node:tty');
  return [0, 1, 2].filter((fd) => isatty(fd));
}

// Closes the standard streams that were terminals and whose terminal was closed. Node restores the mode of each terminal at its exit, and
// aborts with a core dump when that fails (ResetStdio in node.cc). It skips closed streams. Node closes any other stream, such as
// /dev/null, itself: a second close would fail.
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
  // Node prints its warnings, of experimental features for instance, unless somebody else listens; main does.
  process.removeAllListeners('warning');
  // Until main has ended: Node also ends when nothing is left to wait for.
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
    // Node makes each stream when it is asked for, and that takes time.
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
    // Whoever still writes there, or could type there, is not waited for.
    if (stdin !== undefined) stdin.destroy();
    if (stdin !== undefined && stdin.unref !== undefined) stdin.unref();
    closeGoneTerminals(terminals);
    // What a reader does not take would keep the process waiting for ever, and what a name server does not answer for ten seconds.
    if (isAbandoned) process.exit();
  });
}
