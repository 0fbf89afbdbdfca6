// Preloaded into the built program: sets its date to FLEET_TRANSCRIPT_DATE, in milliseconds since the
// epoch. The date stands still unless FLEET_TRANSCRIPT_RUNS is set; the monotonic clock always runs.

const start = Number(process.env['FLEET_TRANSCRIPT_DATE']);
const ahead = process.env['FLEET_TRANSCRIPT_RUNS'] === undefined ? undefined : start - Date.now();
const realDate = Date.now;
Date.now = () => (ahead === undefined ? start : realDate() + ahead);
