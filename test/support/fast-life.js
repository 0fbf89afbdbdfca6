// Preloaded into a fleet process by `node --import`. The clocks of the process run FLEET_TEST_SPEED
// times faster from FLEET_TEST_EPOCH on, in real milliseconds since 1970. The date jumps as
// FLEET_TEST_STEPS says: `[[lifeMs, shiftMs], …]`.

import { speedUp } from './speed-up.js';

const speed = Number(process.env['FLEET_TEST_SPEED'] ?? 1);
const epochMs = Number(process.env['FLEET_TEST_EPOCH'] ?? Date.now());
const steps = JSON.parse(process.env['FLEET_TEST_STEPS'] ?? '[]');

const now = performance.now.bind(performance);
speedUp(speed);

const startedMs = Date.now() - now();
Date.now = () => {
  const lifeMs = (startedMs + now() - epochMs) * speed;
  const shiftMs = steps.findLast(([atMs]) => lifeMs >= atMs)?.[1] ?? 0;
  return Math.round(epochMs + lifeMs + shiftMs);
};
