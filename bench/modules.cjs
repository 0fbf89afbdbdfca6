// Preloaded (`node -r`): measures how long each module takes to load, without the modules that it
// loads itself, and writes the list at the end.

const { writeFileSync } = require('node:fs');
const { Module } = require('node:module');
const { basename } = require('node:path');

const load = Module._load;
const own = new Map();
const stack = [];

Module._load = function loadMeasured(request, ...others) {
  const startedAt = performance.now();
  stack.push(0);
  try {
    return load.call(this, request, ...others);
  } finally {
    const took = performance.now() - startedAt;
    const inner = stack.pop();
    if (stack.length > 0) stack[stack.length - 1] += took;
    own.set(request, (own.get(request) ?? 0) + took - inner);
  }
};

/** Removes the hash that the build adds to the name of a file of `dist`. */
function nameOf(request) {
  return basename(request).replace(/(?:-[\w-]{8})?\.cjs$/, '');
}

process.on('exit', () => {
  const rows = [...own].map(([request, ms]) => [nameOf(request), ms]);
  writeFileSync(process.env.FLEET_BENCH_MODULES, JSON.stringify(rows));
});
