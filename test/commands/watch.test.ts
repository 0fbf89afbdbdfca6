// Tests `fleet watch` with the sandbox and faulty servers: output, reports and the end.

import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { Fault } from '../../src/sandbox/faults.js';
import type { Sandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { openQuickClock } from '../support/fast-clock.js';
import { openMisbehaving, sendStatus, sendStream } from '../support/misbehaving.js';
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

/** Number of pages of the list of the main organization in the largest page size. */
function pagesOf(from: Sandbox, pageSize = 100): number {
  return Math.ceil(from.bicycles(from.organizations[0]?.uuid).length / pageSize);
}

describe('`watch` rejects invalid arguments before it sends anything', () => {
  test.each([
    [[], 'there are 2 organizations, and none was chosen'],
    [['ORG', '-o', 'csv'], 'watch writes lines, or JSON lines with --json, not csv'],
    [['ORG', '--columns', 'name'], 'does not support --columns'],
    [['ORG', '--live'], '--live draws on a terminal'],
    [['ORG', '--where', 'state'], 'a condition must be'],
    [['ORG', '--where', 'stat=lost'], 'unknown field "stat"'],
    [
      ['ORG', '--where', 'state=lost,retired'],
      `fleet watch --json --jq 'select(.message.state | IN("lost", "retired"))'`,
    ],
    [
      ['ORG', '--where', 'state=lost or state=retired'],
      `fleet watch --json --jq 'select(.message.state | IN("lost", "retired"))'`,
    ],
    [['ORG', '--until', 'state=lost,retired'], 'several values'],
    [['ORG', '--for', '60'], '--for must be a number with a unit'],
    [['ORG', '--for', '0s'], '--for must be a time above 0'],
    [['ORG', '--idle', '0'], '--idle must be above 0'],
    [['ORG', '--idle', 'soon'], '--idle must be a number with a unit'],
    [['ORG', '--max-events', '0'], '--max-events must be a whole number of 1 or more'],
    [['--topic', ''], '--topic needs a topic'],
  ])('%j: %s', async (args, message) => {
    const { requests } = sandbox();
    const before = requests.length;
    const got = await watch(
      args.map((argument) => (argument === 'ORG' ? find().organization : argument)),
    );
    expect(got).toMatchObject({ code: 2, stdout: '' });
    expect(got.stderr).toContain(message);
    // The list is requested to get the names of the organizations.
    expect(requests.slice(before).filter(({ url }) => !url.includes('/organizations/'))).toEqual(
      [],
    );
  });
});

test('prints full lines to a pipe and reports on stderr', async () => {
  const { organization, bicycle, uuid } = find();
  const got = await watch(
    [organization, '--max-events', '2', '--sender', 'bicycle', '--resync-pages', '9'],
    {
      onRead: {
        pages: pagesOf(sandbox()),
        action() {
          sandbox().act(uuid, 'rent');
          sandbox().changeBicycle(uuid, {
            latitude: Number(bicycle.latitude) + 0.001,
            state_of_charge: 12.5,
          });
        },
      },
    },
  );
  expect(got.code).toBe(0);
  const [first, second] = got.stdout.split('\n');
  expect(first).toMatch(/^\d{4}-\d\d-\d\dT\S+Z {2}\S.* {2}available -> rented {2}/);
  expect(first).toContain(String(bicycle.name));
  expect(second).toContain('moved 111 m, charge ');
  expect(second).toContain('  12.5  ');
  expect(got.stderr).toContain(`watching /${organization}/admin/bicycles/*\n`);
  expect(got.stderr).toMatch(/watched for .*: 3 messages, 2 shown, 0 reconnects, no gaps\n$/);
  // Section 4.6: the topic is encoded completely and followed by a slash.
  const subscription = sandbox().requests.findLast(({ server }) => server === 'push');
  expect(subscription?.url).toBe(`/subscribe/%2F${organization}%2Fadmin%2Fbicycles%2F%2A/`);
});

describe('`watch --json`', () => {
  test('prints each envelope unchanged on one line, and its own events as JSON on stderr', async () => {
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

  test('prints the failure as JSON after the summary when the service refuses the subscription', async () => {
    const got = await watch([find().organization, '--json'], { env: { FLEET_TOKEN: 'wrong' } });
    expect(got).toMatchObject({ code: 4, stdout: '' });
    expect(jsonLines(got.stderr)).toMatchObject([
      { event: 'closed', kind: 'auth', status: 401 },
      { event: 'closed', reason: 'failed', messages: 0 },
      { error: { kind: 'auth', status: 401 } },
    ]);
  });
});

describe('the end of `watch`', () => {
  test('prints the bicycle and ends at once when --until already matches', async () => {
    const { organization, uuid } = find('rented');
    const before = sandbox().requests.length;
    const got = await watch([
      organization,
      '--bicycle',
      uuid,
      '--until',
      'state=rented',
      '--for',
      '20s',
    ]);
    expect([got.code, got.stdout]).toEqual([
      0,
      expect.stringMatching(/^\S+ {2}.* {2}rented {2}.*\n$/),
    ]);
    // The watch subscribes before it reads the list, so that it misses no change.
    const { requests } = sandbox();
    const looked = requests.findIndex(({ url }) => url === `/bicycles/${uuid}/`);
    expect(requests.slice(before, looked).map(({ server }) => server)).toEqual(['push']);
  });

  test('prints the message and exits with 0 when --until starts to match', async () => {
    const { organization, uuid } = find('rented');
    const got = await watch(
      [organization, '--bicycle', uuid, '--until', 'state=available', '--for', '20s'],
      {
        onOpen: () => sandbox().act(uuid, 'return'),
      },
    );
    expect([got.code, got.stdout]).toEqual([0, expect.stringContaining('available')]);
  });

  test('does not match --until with the state that a bicycle leaves', async () => {
    const { organization, uuid } = find('available');
    const got = await watch(
      [
        organization,
        '--bicycle',
        uuid,
        '--until',
        'state=available',
        '--for',
        '2s',
        '--resync-pages',
        '0',
      ],
      { onOpen: () => sandbox().act(uuid, 'rent') },
    );
    // The old and the new state are on one line.
    expect(got.stdout).toMatch(/^\S+ {2}.* {2}available -> rented {2}.*\n$/);
    expect(got).toMatchObject({ code: 124 });
    expect(got.stderr).toContain('error: state=available was not met within 2 s');
  });

  test('exits with 0 when the time of --for is over', async () => {
    expect(await watch([find().organization, '--for', '10s'])).toMatchObject({
      code: 0,
      stdout: '',
    });
  });

  test.each([
    ['403', ['--topic', '/not/mine'], 403, 4],
    ['404', ['--topic', '/nothing/here'], 404, 5],
    ['410', [], 410, 5],
    ['422', [], 422, 6],
    ['204', [], 204, 7],
  ])('ends after a permanent error: %s', async (_name, args, status, code) => {
    const push = await openMisbehaving((socket) => sendStatus(socket, status));
    const got = await watch([find().organization, ...args], { env: { FLEET_SSE_URL: push.url } });
    expect([got.code, got.stderr]).toEqual([
      code,
      expect.stringMatching(/error: the (?:service |subscription to )/),
    ]);
    if (code === 5)
      expect(got.stderr).toContain(
        'hint: check the topic (its bicycle or organization may be gone), and that sse_url has the right prefix',
      );
  });

  test.each(['SIGINT', 'SIGTERM'])(
    '%s ends a pause at once and prints the summary',
    async (signal) => {
      const signals = new EventEmitter();
      const push = await openMisbehaving((socket) =>
        sendStatus(socket, 503, { 'Retry-After': '600' }),
      );
      const got = await watch([find().organization], {
        signals,
        env: { FLEET_SSE_URL: push.url },
        onStderr: (text) =>
          text.includes('not connected') && setTimeout(() => signals.emit(signal), 10),
      });
      expect(got.code).toBe(signal === 'SIGINT' ? 130 : 143);
      expect(got.stderr).toMatch(
        /trying again in [45] min.*, not in 10 min as the service asked\n[\s\S]*watched for .*: never connected/,
      );
    },
  );
});

test('prints a --trace line for the subscription in whole milliseconds', async () => {
  const { organization } = find();
  const { stderr } = await watch(
    [organization, '--trace', '--max-events', '1', '--resync-pages', '0'],
    {
      onOpen: () => sandbox().publish(`/${organization}/admin/bicycles/*`, 'task', { n: 1 }),
    },
  );
  expect(stderr).toMatch(/^trace: GET \/subscribe\/\S+ 200 in \d+ ms, from /m);
});

describe('values of filters of `watch`', () => {
  test('accepts a state that the service names and rejects a misspelled one', async () => {
    const { organization } = find();
    const known = await watch([organization, '--until', 'state=reserved', '--for', '1s']);
    expect(known.code).toBe(124);
    const slip = await watch([organization, '--where', 'state=availble', '--for', '2s']);
    expect([slip.code, slip.stderr]).toEqual([
      2,
      expect.stringContaining('did you mean "available"?'),
    ]);
  });
});

describe('filters of `watch`', () => {
  test.each([
    ['--where', 'zone=London'],
    ['--where', 'battery<20'],
    ['--until', 'battery<20'],
  ])('refuses %s %s, a field that no bicycle has', async (flag, condition) => {
    const got = await watch([find().organization, flag, condition, '--for', '2s']);
    expect(got).toMatchObject({ code: 2, stdout: '' });
    expect(got.stderr).toContain(`unknown field "${condition.split(/[=<]/)[0]}"`);
  });

  test('accepts a condition on a field that only the service knows', async () => {
    const { organization } = find();
    const got = await watch([organization, '--where', 'short_id!=0', '--for', '1s']);
    expect(got.code).toBe(0);
  });

  test('accepts a condition on an unknown field while the list is out of reach', async () => {
    const { organization } = find();
    const got = await watch([organization, '--where', 'firmware=2', '--for', '1s'], {
      env: { FLEET_BASE_URL: 'http://127.0.0.1:9' },
    });
    expect(got.code).toBe(0);
  });

  test('applies --where to the known fields of the bicycle when a message is partial', async () => {
    const { organization, bicycle, uuid } = find();
    const topic = `/${organization}/admin/bicycles/*`;
    const other = sandbox()
      .bicycles(organization)
      .find((one) => one.uuid !== uuid)?.uuid;
    const got = await watch(
      [
        organization,
        '--json',
        '--where',
        `name=${bicycle.name}`,
        '--max-events',
        '1',
        '--resync-pages',
        '9',
      ],
      {
        onRead: {
          pages: pagesOf(sandbox()),
          action() {
            sandbox().publish(topic, 'bicycle', { uuid: other, state: 'lost' });
            sandbox().publish(topic, 'bicycle', { uuid, state: 'lost' });
          },
        },
      },
    );
    expect(got.code).toBe(0);
    expect(JSON.parse(got.stdout)).toMatchObject({ message: { uuid, state: 'lost' } });
  });

  test('filters by --sender and accepts an unknown sender', async () => {
    const { organization } = find();
    const topic = `/${organization}/admin/bicycles/*`;
    const got = await watch(
      [organization, '--sender', 'weather', '--sender', 'alert', '--max-events', '2'],
      {
        onOpen: () => {
          sandbox().publish(topic, 'task', { n: 1 });
          sandbox().publish(topic, 'weather', { text: 'rain \u001b[2J' });
          sandbox().publish(topic, 'alert', {
            alert_type: 'lock.bat.low',
            state: 'new',
            extra: { bicycle_name: 'Ada' },
          });
        },
      },
    );
    expect(got.stdout).toMatch(
      /weather {11}\{"text":"rain \\u001b\[2J"\}\n.* {2}Ada {13} {2}alert new lock\.bat\.low\n$/,
    );
  });
});

describe('`watch` after a gap', () => {
  const PAGE = { bicycles: 260, pageSize: 100, replay: 0 };

  test('reads missed changes from the list once and marks them as caught up when the service has no replay', async () => {
    const from = await openSandbox(PAGE);
    const { organization, uuid } = find('rented', from);
    const others = from
      .bicycles(organization)
      .slice(0, 6)
      .map((one) => one.uuid)
      .filter((one) => one !== uuid);
    const got = await watch([organization, '--max-events', '1', '--resync-pages', '10'], {
      from,
      onRead: {
        pages: pagesOf(from, PAGE.pageSize),
        action() {
          from.dropStreams();
          from.act(uuid, 'return');
          for (const other of others) from.changeBicycle(other, { state_of_charge: 1.25 });
        },
      },
      onStderr: (text) =>
        text.includes('caught up') && from.changeBicycle(uuid, { state_of_charge: 33 }),
    });
    expect(got.code).toBe(0);
    const caughtUp = got.stdout.split('\n').filter((line) => line.includes('caught up: '));
    expect(caughtUp).toHaveLength(others.length + 1);
    expect(caughtUp.join('\n')).toContain('caught up: rented -> available');
    expect(got.stderr).toMatch(/lost: .*trying again in/);
    expect(got.stderr).toMatch(/back after .*, no updates from \d\d:\d\d:\d\d to \d\d:\d\d:\d\d: /);
    expect(got.stderr).toMatch(/checked the list: \d+ changes caught up, .*: being checked/);
    expect(got.stderr).toMatch(/1 reconnect, 1 gap, not connected for .*changes caught up/);
  });

  test('ignores repeated messages about a bicycle that left its state', async () => {
    const from = await openSandbox({ bicycles: 20, faults: [{ kind: 'resend' }] });
    const { organization, uuid } = find('available', from);
    const got = await watch([organization, '--for', '4s'], {
      from,
      onRead: {
        pages: 1,
        action() {
          from.act(uuid, 'rent');
          setTimeout(from.dropStreams, 200);
        },
      },
    });
    expect(got.stderr).toContain('1 reconnect');
    const changes = got.stdout.split('\n').filter(Boolean);
    expect(changes.map((line) => /\w+ -> \w+|leaves \w+/.exec(line)?.[0])).toEqual([
      'available -> rented',
    ]);
  });

  test('prints the bicycle when a caught-up change matches --until, as an envelope with --json', async () => {
    const uuid = '14c6d2ad-7236-46f1-b76f-6d356b2105d2';
    let subscriptions = 0;
    const service = await openMisbehaving((socket, { path }) => {
      const bicycle = {
        uuid,
        modified: '2026-11-21T12:00:00Z',
        state: subscriptions > 1 ? 'available' : 'rented',
      };
      if (!path.startsWith('/subscribe/'))
        return sendStatus(socket, 200, {}, JSON.stringify(bicycle));
      subscriptions++;
      sendStream(socket, ':\n\n');
      if (subscriptions === 1) setTimeout(() => socket.destroy(), 200);
    });
    const env = { FLEET_BASE_URL: service.url, FLEET_SSE_URL: service.url };
    const { organization } = find();
    const got = await watch(
      [organization, '--bicycle', uuid, '--until', 'state=available', '--json'],
      { env },
    );
    expect(got.code).toBe(0);
    expect(JSON.parse(got.stdout)).toMatchObject({
      sender: 'bicycle',
      message: { uuid, state: 'available' },
    });
  });

  test('reports an incomplete comparison when a cache answers with an old list', async () => {
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

  test.each(['500ms', '0.5'])('counts %s of silence as a dead connection', async (idle) => {
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
    setTimeout(() => signals.emit('SIGINT'), 500);
    const got = await watch([find().organization, '--live'], {
      signals,
      terminal: { columns, rows: 24 },
    });
    expect([got.code, got.stderr]).toEqual([130, expect.not.stringContaining('error')]);
  });

  test('breaks reports between words on a terminal', async () => {
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

  test('uses a --resync-pages that is too small, and reports it even with --quiet', async () => {
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

test('explains that --for ends a watch when --timeout is set and nothing else ends it', async () => {
  const { organization } = find();
  const said = async (...args: string[]) =>
    (await watch([organization, '--timeout', '5', ...args])).stderr;
  expect(await said('--for', '0.1s')).not.toContain('--timeout');
  const stop = { signals: new EventEmitter() };
  const got = watch([organization, '--timeout', '5'], {
    ...stop,
    onOpen: () => stop.signals.emit('SIGINT'),
  });
  expect((await got).stderr).toContain(
    '--timeout is for each request; to end the watch after 5 s: --for 5s\n',
  );
});

describe('`watch --live`', () => {
  test('shows the name of the organization or the start of its UUID, and the topic in a log', async () => {
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

  test('draws on the alternate screen, restores the terminal on Ctrl-C and prints the summary', async () => {
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

describe('`watch --jq`', () => {
  test('filters each message and prints raw strings', async () => {
    const { organization, bicycle, uuid } = find('available');
    const filters = ['--sender', 'bicycle', '--where', `uuid=${uuid}`, '--max-events', '2'];
    const { code, stdout } = await watch(
      [organization, '--jq', '.message | .name, .state', ...filters],
      {
        onOpen() {
          sandbox().act(uuid, 'rent');
          sandbox().act(uuid, 'return');
        },
      },
    );
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `${bicycle.name}\nrented\n${bicycle.name}\navailable\n`,
    });
  });

  test.each([
    [['--jq', '.['], 'jq'],
    [['--jq', '.', '--live'], '--live and --jq cannot be used together'],
  ])('rejects %j before it sends anything', async (args, words) => {
    const before = sandbox().requests.length;
    const { code, stderr } = await watch([find().organization, ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
    expect(sandbox().requests).toHaveLength(before);
  });

  test('skips a message for which the jq program fails', async () => {
    const { organization } = find();
    const topic = `/${organization}/admin/bicycles/*`;
    const got = await watch(
      [organization, '--jq', '.message.n | test("a")', '--max-events', '3', '--json'],
      {
        onOpen: () => {
          for (const n of ['a', 7, 'b']) sandbox().publish(topic, 'task', { n });
        },
      },
    );
    expect(got).toMatchObject({ code: 0, stdout: 'true\nfalse\n' });
    expect(jsonLines(got.stderr).filter(({ event }) => event === 'unshown')).toMatchObject([
      { kind: 'usage', text: expect.stringContaining('"n":7') },
    ]);
  });
});

test('fails with the reason when it never connected, and says that nothing was seen for --until', async () => {
  const { organization } = find();
  const env = { FLEET_SSE_URL: 'http://127.0.0.1:1' };
  const { code, stderr } = await watch([organization, '--for', '1s'], { env });
  expect([code, stderr]).toEqual([8, expect.stringMatching(/watched for .*: never connected\n/)]);
  expect(stderr).not.toContain('no gaps');
  expect(stderr).toMatch(/error: never connected: cannot reach the push channel/);
  const until = await watch([organization, '--for', '1s', '--until', 'state=lost'], { env });
  expect(until.code).toBe(124);
  expect(until.stderr).toMatch(
    /state=lost was not met within 1 s; never connected: cannot reach the push channel/,
  );
});

test('reports "never connected" when the first token never arrives', async () => {
  const { organization } = find();
  const env = { FLEET_TOKEN: '', FLEET_TOKEN_COMMAND: 'exec sleep 20' };
  const { code, stderr } = await watch([organization, '--for', '1s', '--json'], { env });
  expect(code).toBe(8);
  const topic = expect.stringContaining(organization);
  expect(jsonLines(stderr).find(({ event }) => event === 'closed')).toMatchObject({
    gap_count: 0,
    never_connected: [topic],
  });
});

test('skips a message with 100,000 fields and one that is nested too deeply, and continues', async () => {
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

  test('uses and reports the only organization of the token', async () => {
    const push = await openMisbehaving((socket) =>
      sendStream(socket, 'data: {"sender":"task","message":{}}\n\n'),
    );
    const env = { FLEET_SSE_URL: push.url, FLEET_TOKEN: tokenOf(one) };
    const got = await watch(['--max-events', '1', '--resync-pages', '0'], { env });
    expect(got.code).toBe(0);
    expect(got.stderr).toContain(`using the organization ${one}, the only one in the token`);
    expect(push.requests[0]?.path).toContain(one);
  });

  test('lists several organizations of the token and subscribes to none', async () => {
    const { requests } = sandbox();
    const before = requests.length;
    const got = await watch([], { env: { FLEET_TOKEN: tokenOf(one, two) } });
    expect([got.code, got.stderr]).toEqual([2, expect.stringContaining(`: ${one}, ${two}`)]);
    expect(requests.slice(before).map(({ url }) => url)).toEqual([
      expect.stringMatching(/\/organizations\/\?page_size=100$/),
    ]);
  });
});
