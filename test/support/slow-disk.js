// Preloaded into a fleet process by `node --import`. Each flush of a file takes up to
// FLEET_TEST_DISK_MS milliseconds longer.

import { open } from 'node:fs/promises';
import { devNull } from 'node:os';

const longestMs = Number(process.env['FLEET_TEST_DISK_MS'] ?? 0);

const handle = await open(devNull, 'r');
const prototype = Object.getPrototypeOf(handle);
await handle.close();
const { datasync } = prototype;

prototype.datasync = async function () {
  await new Promise((resolve) => setTimeout(resolve, Math.random() * longestMs));
  return datasync.call(this);
};
