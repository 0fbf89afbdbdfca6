// The thread that runs jq, so that a program that does not end can be ended with it. The build puts it
// and jq's WebAssembly beside the bundle.

// Without memory, the library says so there; what is said about it is said by those who asked.
console.error = () => {};

const { readFileSync } = require('node:fs');
const { parentPort, workerData } = require('node:worker_threads');
const { loadJq } = require('jq-wasm');

/**
 * @typedef {object} JqRequest
 * @property {string} program
 * @property {string} input JSON texts with line breaks between
 * @property {number} limitBytes of output, stdout and stderr together
 *
 * @typedef {{ stdout: string, stderr: string, exitCode: number } | { failure: 'output' | 'memory' }} JqReply
 */

/** Results as JSON on one line each; behind `--` a program such as `-1` is no flag. */
const FLAGS = ['--compact-output', '--'];

/** Bytes that the run in progress has written, and may write. */
let writtenBytes = 0;
let limitBytes = 0;

/**
 * jq with a bound on what it writes. Its library takes any hook that makes an instance; the function that writes is known by its name.
 * @returns {Promise<import('jq-wasm').Jq>}
 */
function load() {
  // The library would look beside its own file, which is elsewhere once the program has been bundled.
  const bytes = readFileSync(workerData);
  return loadJq({
    instantiateWasm(imports, onSuccess) {
      /** @type {WebAssembly.Memory | undefined} */
      let memory;
      for (const functions of Object.values(imports)) {
        for (const [key, write] of Object.entries(functions)) {
          if (typeof write !== 'function' || write.name !== '_fd_write') continue;
          functions[key] = (/** @type {number[]} */ ...operands) => {
            const status = write(...operands);
            const [, , , countAt = 0] = operands;
            if (memory !== undefined)
              writtenBytes += new DataView(memory.buffer).getUint32(countAt, true);
            if (writtenBytes > limitBytes) throw new Error('jq writes more than it may');
            return status;
          };
        }
      }
      void WebAssembly.instantiate(bytes, imports).then(({ instance, module }) => {
        memory = Object.values(instance.exports).find((part) => part instanceof WebAssembly.Memory);
        onSuccess(instance, module);
      });
    },
  });
}

/** @type {Promise<import('jq-wasm').Jq> | undefined} */
let loaded = load();

parentPort?.on('message', async (/** @type {JqRequest} */ request) => {
  writtenBytes = 0;
  limitBytes = request.limitBytes;
  try {
    loaded ??= load();
    const jq = await loaded;
    reply(jq.raw(request.input, request.program, FLAGS));
  } catch {
    // What was thrown through jq leaves it in no state to go on.
    loaded = undefined;
    reply({ failure: writtenBytes > limitBytes ? 'output' : 'memory' });
  }
});

/** @param {JqReply} message */
function reply(message) {
  parentPort?.postMessage(message);
}
