// Tests `fleet watch` with the sandbox and faulty servers: unusual messages, gaps and the board.

import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { Fault } from '../../src/sandbox/faults.js';
import type { Sandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { openQuickClock } from '../support/fast-clock.js';
import { openMisbehaving, sendStream } from '../support/misbehaving.js';
import { jsonLines, type RunOptions, type RunResult, runFleet } from '../support/run.js';
import { openSandbox, useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 60 });

/** Returns the main organization and one of its bicycles in this state. */
function find(state = 'available', from: Sandbox = sandbox()) {
  const organization = from.organizations[0]?.uuid ?? '';
  const bicycle = from
    .bicycles(organization)
    .find((one) => one.state === state && one.latitude !== null);
  if (bicycle === undefined) throw new Error(`the sandbox has no bicycle that is ${state}`);
  return { organization, bicycle, uuid: bicycle.uuid };
}

interface WatchRun extends RunOptions {
  from?: Sandbox;
  /** Called when the watch is connected. */
  onOpen?: () => void;
  /**
   * Called when the watch is connected, this many pages were answered, and it had time to process
   * them.
   */
  onRead?: { pages: number; action: () => void };
}

/**
 * Turns of the event loop that the watch and the sandbox share, so that a slow machine gets the
 * same number.
 */
const TURNS_TO_TAKE_A_PAGE = 100;

function afterTurns(turns: number, action: () => void): void {
  if (turns === 0) action();
  else setTimeout(afterTurns, 2, turns - 1, action);
}

async function watch(
  args: readonly string[],
  { from = sandbox(), onOpen, onRead, ...options }: WatchRun = {},
): Promise<RunResult> {
  let isOpen = false;
  const count = (of: string) =>
    from.requests.filter(({ server, status }) => server === of && status === 200).length;
  const answered = () => count('api');
  const subscribed = () => count('push');
  const before = subscribed();
  const wanted = answered() + (onRead?.pages ?? 0);
  const look = setInterval(() => {
    if (onRead === undefined || subscribed() === before || answered() < wanted) return;
    clearInterval(look);
    afterTurns(TURNS_TO_TAKE_A_PAGE, onRead.action);
  }, 20);
  return runFleet(['watch', ...args], {
    ...options,
    env: { ...(await environmentOf(from)), ...options.env },
    onStderr(text) {
      if (!isOpen && /watching\s|"event":"open"/.test(text)) {
        isOpen = true;
        // The subscription is open when the line is printed; the list is in flight.
        setTimeout(() => onOpen?.(), 20);
      }
      options.onStderr?.(text);
    },
  }).finally(() => clearInterval(look));
}

describe('`watch --json`', () => {
  test('writes the original messages to stdout and its own JSON events to stderr', async () => {
    const data = [
      '{"topic": "t",',
      '  "sender":"task", "n": 1.50, "deep": {"x":"\u202e\u001b"}}'.replace('\u001b', '\\u001b'),
      '[1, 2]',
      '"ping"',
    ];
    const push = await openMisbehaving((socket) =>
      sendStream(
        socket,
        `event: odd\ndata: ${data[0]}\ndata: ${data[1]}\n\ndata: ${data[2]}\n\n:\n\nid: 1\n\ndata:\n\ndata: oops\n\ndata: ${data[3]}\n\n`,
      ),
    );
    const got = await watch([find().organization, '--json', '--max-events', '3'], {
      env: { FLEET_SSE_URL: push.url },
    });
    expect(got.code).toBe(0);
    expect(got.stdout).toBe(
      `${data[0]} ${data[1]?.replace('\u202e', '\\u202e')}\n[1, 2]\n"ping"\n`,
    );
    const said = jsonLines(got.stderr).filter(({ event }) => event !== 'resync');
    expect(said).toMatchObject([
      { event: 'open', topic: `/${find().organization}/admin/bicycles/*`, again: false },
      { event: 'gap', cause: 'broken', dropped_events: 1, text: 'oops' },
      {
        event: 'closed',
        reason: 'max-events',
        messages: 3,
        reconnects: 0,
        gap_count: 1,
        blind_seconds: 0,
      },
    ]);
  });
});

describe('`watch` after a gap', () => {
  const PAGE = { bicycles: 260, pageSize: 100, replay: 0 };

  test('reports an incomplete comparison when a cache returns an old list', async () => {
    const faults: Fault[] = [{ kind: 'cache', milliseconds: 600_000 }, { kind: 'noreplay' }];
    const from = await openSandbox({ bicycles: 20, faults });
    const { organization, uuid } = find('available', from);
    const signals = new EventEmitter();
    const got = await watch([organization], {
      from,
      signals,
      onRead: {
        pages: 1,
        action: () =>
          setTimeout(() => {
            from.dropStreams();
            from.act(uuid, 'rent');
          }, 1_500),
      },
      onStderr: (text) => text.includes('checked the list') && signals.emit('SIGINT'),
    });
    expect(got.stderr.replace(/\s+/g, ' ')).toMatch(
      /not complete: a cache kept the list for \d+ s/,
    );
    const lists = from.requests.filter(({ url }) => url.startsWith('/bicycles/'));
    for (const { headers } of lists) expect(headers['cache-control']).toBe('no-cache');
  });

  test.each(['500ms', '0.5'])('treats a connection as dead after %s of silence', async (idle) => {
    const from = await openSandbox({ ...PAGE, heartbeatMs: 60_000 });
    const signals = new EventEmitter();
    const got = await watch([find('available', from).organization, '--json', '--idle', idle], {
      from,
      signals,
      onStderr: (text) => text.includes('"event":"lost"') && signals.emit('SIGINT'),
    });
    expect(got.stderr).toContain('"cause":"idle"');
  });

  test.each([1, 2, 3, 9])('draws the board on a terminal of %i columns', async (columns) => {
    const signals = new EventEmitter();
    const got = await watch([find().organization, '--live'], {
      signals,
      terminal: { columns, rows: 24 },
      onStdout: () => signals.emit('SIGINT'),
    });
    expect([got.code, got.stderr]).toEqual([130, expect.not.stringContaining('error')]);
  });

  test('wraps reports at word boundaries on a terminal', async () => {
    const from = await openSandbox(PAGE);
    const { organization } = find('available', from);
    const signals = new EventEmitter();
    const got = await watch([organization], {
      from,
      signals,
      terminal: { columns: 60, rows: 24 },
      onOpen: () => from.dropStreams(),
      onStderr: (text) =>
        text.replace(/\s+/g, ' ').includes('checked the list') && signals.emit('SIGINT'),
    });
    const report = got.stderr.slice(0, got.stderr.indexOf('watched for'));
    expect(report).toMatch(/^[\d:]{8} back after .*\n {9}\S.*/m);
    for (const line of report.split('\n')) expect(line.length).toBeLessThanOrEqual(60);
  });

  test('asks the user to raise --resync-pages when the value is too small', async () => {
    const from = await openSandbox(PAGE);
    const { organization } = find('available', from);
    const signals = new EventEmitter();
    const lists = () => from.requests.filter(({ server }) => server === 'api').length;
    const blink = () => {
      from.dropStreams();
      for (const { uuid } of from.bicycles(organization))
        from.changeBicycle(uuid, { state_of_charge: 2.5 });
    };
    const got = await watch([organization, '--resync-pages', '2', '--quiet'], {
      from,
      signals,
      onRead: { pages: 2, action: blink },
      onStderr: (text) => text.includes('raise --resync-pages') && signals.emit('SIGINT'),
    });
    expect(got.code).toBe(130);
    expect(got.stderr).toMatch(
      /checked the list: \d+ changes caught up, \d+ bicycles not known before, but it is not complete: only the last changed bicycles were read; raise/,
    );
    expect(got.stderr).not.toContain('watching');
    expect(lists()).toBe(4);
  });
});

describe('`watch --live`', () => {
  test("the board's header shows the organization's name or the start of its UUID", async () => {
    const { organization, uuid } = find();
    const terminal = { columns: 80, rows: 24 };
    const [name] = sandbox().organizations.map((one) => one.name);
    /** Watches until this text was printed and then sends Ctrl-C. */
    const says = async (
      text: string,
      args: readonly string[],
      options: Partial<Parameters<typeof watch>[1]> = {},
    ) => {
      const signals = new EventEmitter();
      let said = '';
      const onText = (piece: string) => {
        said += piece;
        if (said.includes(text)) signals.emit('SIGINT');
      };
      // A slow machine gets ten times as long to find the names.
      const slow = { clock: openQuickClock(0.1), signals, onStdout: onText, onStderr: onText };
      await watch([organization, '--for', '20s', ...args], { ...options, ...slow });
      expect(said).toContain(text);
    };
    await says(`watching ${name}\n`, [], { terminal });
    await says(`watching bicycle ${uuid.slice(0, 8)} of ${name}\n`, ['--bicycle', uuid], {
      terminal,
    });
    await says(`fleet watch ${name} `, ['--live'], { terminal });
    const plain = await openSandbox({ bicycles: 5, service: 'interface' });
    await says(`watching organization ${organization.slice(0, 8)}\n`, [], {
      terminal,
      from: plain,
    });
    await says(`watching /${organization}/admin/bicycles/*\n`, []);
  });

  test('draws on the alternate screen and restores the terminal on Ctrl-C', async () => {
    const signals = new EventEmitter();
    const { organization, uuid } = find();
    let frames = '';
    const got = await watch([organization, '--live'], {
      signals,
      terminal: { columns: 80, rows: 24 },
      onStdout(text) {
        frames += text;
        if (frames.includes('STATES of') && !frames.includes('moved 1')) {
          const { latitude } = sandbox().bicycle(uuid) ?? {};
          sandbox().changeBicycle(uuid, { latitude: Number(latitude) + 0.01 });
        }
        // The rate includes the message of the shown change.
        if (frames.includes('moved 1') && /(?:[1-9]|0\.[1-9])\/s/.test(frames))
          signals.emit('SIGINT');
      },
    });
    expect(got.code).toBe(130);
    expect(got.stdout.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
    expect(got.stdout.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
    expect(got.stderr).toMatch(/^watched for/);
  });

  test('restores the terminal before it prints an error', async () => {
    const got = await watch([find().organization, '--live'], {
      terminal: { columns: 80 },
      env: { FLEET_TOKEN: 'wrong' },
    });
    expect(got.code).toBe(4);
    expect(got.stdout.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
    expect(got.stderr).toContain('error: the service refused');
  });
});

test('skips messages that are too large or nested too deeply', async () => {
  const { organization, uuid } = find();
  const fields = (value: number) =>
    Array.from({ length: 100_000 }, (_, index) => `"${index.toString(36)}":${value}`).join(',');
  const event = (value: number) =>
    `data: {"sender":"bicycle","message":{"uuid":"${uuid}",${fields(value)}}}\n\n`;
  const deep = `data: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n\n`;
  const push = await openMisbehaving((socket) => sendStream(socket, event(1) + deep + event(2)));
  const got = await watch([organization, '--max-events', '2', '--resync-pages', '0'], {
    env: { FLEET_SSE_URL: push.url },
  });
  expect([got.code, got.stdout]).toEqual([
    0,
    expect.stringMatching(/ 0, 1, 2, .* and 99988 more /),
  ]);
  expect(got.stderr).toContain('cannot be read: JSON nested deeper than 500 levels');
  expect(got.stdout.length + got.stderr.length).toBeLessThan(5_000);
});

describe('the organization of `watch`', () => {
  const [one, two] = [
    '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11',
    '0b0e7c1c-6d0a-4b9e-8a34-5f2d9f3a7c10',
  ];
  const tokenOf = (...organizations: string[]) => {
    const affs = Object.fromEntries(
      organizations.map((organization) => [organization, ['fleet_operator']]),
    );
    return ['{"alg":"none"}', JSON.stringify({ affs }), 'x']
      .map((part) => Buffer.from(part).toString('base64url'))
      .join('.');
  };

  test('uses the only organization in the token', async () => {
    const push = await openMisbehaving((socket) =>
      sendStream(socket, 'data: {"sender":"task","message":{}}\n\n'),
    );
    const env = { FLEET_SSE_URL: push.url, FLEET_TOKEN: tokenOf(one) };
    const got = await watch(['--max-events', '1', '--resync-pages', '0'], { env });
    expect(got.code).toBe(0);
    expect(got.stderr).toContain(`using the organization ${one}, the only one in the token`);
    expect(push.requests[0]?.path).toContain(one);
  });

  test('an error lists the organizations when the token has several', async () => {
    const { requests } = sandbox();
    const before = requests.length;
    const got = await watch([], { env: { FLEET_TOKEN: tokenOf(one, two) } });
    expect([got.code, got.stderr]).toEqual([2, expect.stringContaining(`: ${one}, ${two}`)]);
    expect(requests.slice(before).map(({ url }) => url)).toEqual([
      expect.stringMatching(/\/organizations\/\?page_size=100$/),
    ]);
  });
});

test('the error about a message that cannot be shown quotes the first 1000 characters of the message', async () => {
  const { organization, uuid } = find();
  const signals = new EventEmitter();
  const { stderr } = await watch([organization, '--json', '--jq', 'error("no")'], {
    signals,
    onOpen: () => sandbox().changeBicycle(uuid, { description: 'x'.repeat(2_000) }),
    onStderr: (text) => {
      if (text.includes('"unshown"')) signals.emit('SIGINT');
    },
  });
  const reports = jsonLines<{ event?: string; text: string }>(stderr);
  const text = reports.find(({ event }) => event === 'unshown')?.text ?? '';
  expect(text).toMatch(/^\{"topic":"/);
  expect(text).toMatch(/x…$/);
  expect(text).toHaveLength(1_001);
});
