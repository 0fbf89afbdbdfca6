// Preloaded by `node -r`. Records when the files of a command were loaded and what its socket did,
// and writes the times at the end.

const Module = require('node:module');
const { Socket } = require('node:net');
const { writeFileSync } = require('node:fs');

const marks = [];
const mark = (what) => marks.push([what, performance.now()]);
mark('Node itself');

const load = Module._load;
Module._load = function (request, ...more) {
  try {
    return load.call(this, request, ...more);
  } finally {
    const name = /^\.\/(start|program|request|undici)-/.exec(request)?.[1];
    if (name !== undefined && !marks.some(([what]) => what === `load ${name}`))
      mark(`load ${name}`);
  }
};

const { connect } = Socket.prototype;
Socket.prototype.connect = function (...input) {
  mark('settings, token, request');
  this.once('connect', () => mark('connect'));
  this.once('readable', () => mark('answer'));
  return connect.apply(this, input);
};
process.once('beforeExit', () => mark('read, print, close'));
process.once('exit', () => writeFileSync(process.env.FLEET_BENCH_PHASES, JSON.stringify(marks)));
