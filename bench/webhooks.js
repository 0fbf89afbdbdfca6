// Measures `fleet alerts listen` with 1,000 webhooks per second. Each must be answered and printed.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environment, PROGRAM } from './measure.js';

const PER_SECOND = 1_000;
const SECONDS = 10;
const TOTAL = PER_SECOND * SECONDS;
const CONNECTIONS = 8;
/**
 * The webhooks are sent in groups at this interval in milliseconds, because timers are not finer.
 */
const TICK_MS = 10;

/** @returns {AsyncGenerator<import('./measure.js').Row>} */
export async function* benchWebhooks() {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  const env = environment({ XDG_STATE_HOME: folder });
  const child = spawn(
    process.execPath,
    [PROGRAM, 'alerts', 'listen', '--json', '--port', '0', '--max-events', String(TOTAL)],
    {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  try {
    const url = await new Promise((resolve) => {
      let text = '';
      child.stderr.on('data', (chunk) => {
        text += chunk;
        const found = /"url":"([^"]+)"/.exec(text);
        if (found !== null) resolve(found[1]);
      });
    });
    const printed = new Set();
    let rest = '';
    child.stdout.on('data', (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) printed.add(/"uuid":"([^"]+)"/.exec(line)?.[1]);
    });
    const closed = new Promise((resolve) => child.on('close', resolve));
    const { delays, seconds } = await sendAll(url, agent);
    await closed;
    const sorted = delays.sort((a, b) => a - b);
    const at = (part) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
    yield {
      what: `${TOTAL} webhooks, answered with 204 and printed`,
      figure: `${Math.min(delays.length, printed.size)} at ${Math.round(delays.length / seconds)} a second`,
      peer: `${TOTAL} at ${PER_SECOND} a second`,
      ratio: seconds / SECONDS,
      most: 1.05,
      met: delays.length === TOTAL && printed.size === TOTAL && seconds <= SECONDS * 1.05,
      runs: 1,
    };
    yield {
      what: 'delay of an answer, p50 and p99',
      figure: `${at(0.5).toFixed(1)} ms, ${at(0.99).toFixed(1)} ms`,
      peer: '-',
      runs: 1,
    };
  } finally {
    agent.destroy();
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Sends the webhooks evenly. Resolves with the delays of the answers 204 in milliseconds. */
function sendAll(url, agent) {
  const startedAt = performance.now();
  const delays = [];
  let sent = 0;
  let answered = 0;
  return new Promise((resolve) => {
    const done = () => {
      answered++;
      if (answered === TOTAL) resolve({ delays, seconds: (performance.now() - startedAt) / 1000 });
    };
    const send = () => {
      const body = bodyOf(sent++);
      const sentAt = performance.now();
      const post = request(
        url,
        { agent, method: 'POST', headers: { 'content-length': body.length } },
        (answer) => {
          answer.resume();
          answer.on('end', () => {
            if (answer.statusCode === 204) delays.push(performance.now() - sentAt);
            done();
          });
        },
      );
      post.on('error', done);
      post.end(body);
    };
    const beat = setInterval(() => {
      const due = Math.min(
        TOTAL,
        Math.floor(((performance.now() - startedAt) / 1000) * PER_SECOND),
      );
      while (sent < due) send();
      if (sent === TOTAL) clearInterval(beat);
    }, TICK_MS);
  });
}

/** Returns an alert of the usual size. */
function bodyOf(index) {
  const uuid = `14c6d2ad-7236-46f1-b76f-${String(index).padStart(12, '0')}`;
  const link = (kind) => `https://bikes.example.com/api/${kind}/${uuid}/`;
  return JSON.stringify({
    uuid,
    created: '2026-03-01T12:00:00Z',
    modified: '2026-03-01T12:00:00Z',
    roles: ['fleet_operator', 'admin'],
    user: null,
    causality: link('bicycles'),
    alert_type: 'lock.bat.low',
    message: `Battery of the lock is low: Emmy ${index}`,
    extra: {
      bicycle_name: `Emmy ${index}`,
      bicycle_uuid: uuid,
      state_of_charge: 12.5,
      location: { type: 'Point', coordinates: [13.4, 52.5] },
    },
    bicycle: link('bicycles'),
    organization: link('organizations'),
    url: link('alerts'),
    state: 'new',
  });
}
