// Preloaded into a fleet process by `node --import`. Its monotonic time and its timers run
// FLEET_TEST_HURRY times faster. Its date is off by FLEET_TEST_SHIFT milliseconds and jumps between
// the true and the false date.

import { speedUp } from './speed-up.js';

const hurry = Number(process.env['FLEET_TEST_HURRY'] ?? 1);
const shiftMs = Number(process.env['FLEET_TEST_SHIFT'] ?? 0);

const now = performance.now.bind(performance);
speedUp(hurry);

const date = Date.now;
Date.now = () => date() + (Math.floor(now() / 150) % 2 === 0 ? shiftMs : 0);
