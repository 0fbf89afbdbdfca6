// The thread that runs jq, so that fleet can stop a jq program that does not end. The build puts this
// file and jq's WebAssembly beside the bundle.

// When jq has no more memory, the library prints it here. The main thread reports it instead.
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

/** Prints each result as JSON on one line. After `--` a program such as `-1` is not a flag. */
const FLAGS = ['--compact-output', '--'];

/** The number of bytes that the current run has written, and its limit. */
let writtenBytes = 0;
let limitBytes = 0;

/**
 * Loads jq with a limit on its output. Without the limit, the library collects the output of a
 * program such as `repeat("x")` in memory until the process fails: 1.2 GB after 10 s. The library
 * has no option for it, so its hook for instances wraps the function that writes. Minified imports
 * keep only the name of the function. test/terminal/jq.test.ts fails when the name changes.
 * @returns {Promise<import('jq-wasm').Jq>}
 */
function load() {
  // The library would search beside its own file, but the bundle is in another folder.
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
    // jq cannot continue after an exception of JavaScript passed through it.
    loaded = undefined;
    reply({ failure: writtenBytes > limitBytes ? 'output' : 'memory' });
  }
});

/** @param {JqReply} message */
function reply(message) {
  parentPort?.postMessage(message);
}
