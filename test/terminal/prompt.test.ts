// Tests prompts: their look, their answers, and when they are impossible.

import { PassThrough, Writable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { FleetError } from '../../src/errors.js';
import { systemClock } from '../../src/system/clock.js';
import { openIo } from '../../src/terminal/io.js';
import { type Asking, askSecret, askText, askYesNo, canAsk } from '../../src/terminal/prompt.js';
import { ENCODINGS, windowsLeft } from '../support/quoting.js';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.s1Gntu-re_0987654321';

let stdin: PassThrough;
let screen: string;
let abort: AbortController;

beforeEach(() => {
  stdin = new PassThrough();
  screen = '';
  abort = new AbortController();
});

function openAsking(
  at: { stdin?: boolean; stderr?: boolean; input?: boolean; env?: NodeJS.ProcessEnv } = {},
): Asking {
  const sink = () =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        screen += chunk.toString();
        done();
      },
    });
  const io = openIo(
    {
      stdin: Object.assign(stdin, { isTTY: at.stdin ?? true }),
      stdout: sink(),
      stderr: Object.assign(sink(), { isTTY: at.stderr ?? true, columns: 80 }),
      env: at.env ?? { NO_COLOR: '1' },
    },
    { noColor: false, isJson: false, clock: systemClock() },
  );
  return { io, flags: at.input === undefined ? {} : { input: at.input }, signal: abort.signal };
}

/** Types one key after the other. */
async function type(keys: string): Promise<void> {
  for (let tries = 0; screen === '' && tries < 500; tries++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  for (const key of keys) {
    stdin.write(key);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const QUESTION = { message: 'Address', instead: 'pass --base-url' };

/** Returns the result of a prompt to which these keys are typed. */
async function answered<Answer>(answer: Promise<Answer>, keys: string): Promise<Answer> {
  const [given] = await Promise.all([answer, type(keys)]);
  return given;
}

describe('a prompt', () => {
  it('a prompt accepts an answer and respects disabled colors', async () => {
    expect(await answered(askText(openAsking(), QUESTION), 'https://x\r')).toBe('https://x');
    expect(screen).toContain('? Address');
    expect(screen).not.toMatch(/\x1b\[\d+m/);
  });

  it.each(Object.entries(ENCODINGS))(
    'the prompt text does not show a token: %s',
    async (_name, encode) => {
      const asking = openAsking();
      asking.io.secrets.add(TOKEN);
      const message = `Edit bicycle ${encode(TOKEN)} at Berlin?`;
      expect(await answered(askYesNo(asking, { ...QUESTION, message }), 'y\r')).toBe(true);
      expect(screen).toMatch(/Edit bicycle .*\[hidden\].* at Berlin\?/s);
      expect(windowsLeft(screen, TOKEN)).toEqual([]);
    },
  );

  it('the reason for repeating a prompt does not show a token', async () => {
    const asking = openAsking();
    asking.io.secrets.add(TOKEN);
    const refuse = (typed: string) => (typed === 'b' ? undefined : `not ${TOKEN.toUpperCase()}`);
    expect(await answered(askText(asking, { ...QUESTION, refuse }), 'a\rb\r')).toBe('b');
    expect(screen).toContain('> not [hidden]');
    expect(windowsLeft(screen, TOKEN)).toEqual([]);
  });

  it('delays other stderr lines until the user answers the prompt', async () => {
    const asking = openAsking();
    const answer = answered(askText(asking, QUESTION), 'https://x\r');
    await type('');
    const notice = asking.io.stderr.write('the disk is slow\n');
    expect(await answer).toBe('https://x');
    await notice;
    expect(screen).toMatch(/\? Address.*https:\/\/x\s+the disk is slow\n$/s);
  });

  it('repeats the prompt after an invalid answer', async () => {
    const refuse = (answer: string) => (answer === 'good' ? undefined : 'write good');
    expect(await answered(askText(openAsking(), { ...QUESTION, refuse }), 'go\rgood\r')).toBe(
      'good',
    );
    expect(screen).toContain('write good');
  });

  it.each(['\r', '\n', '\r\n'])(
    'does not show the lines after a pasted answer and %j',
    async (end) => {
      const answer = askText(openAsking(), QUESTION);
      await type('');
      stdin.write(`https://x${end}${end}xyzzy${end}`);
      expect(await answer).toBe('https://x');
      expect(screen).not.toContain('xyzzy');
    },
  );

  it('a prompt leaves stderr open', async () => {
    const asking = openAsking();
    await answered(askText(asking, QUESTION), 'a\r');
    await asking.io.stderr.write('and then');
    expect(screen).toMatch(/and then$/);
  });

  it('a prompt for a secret does not show the answer', async () => {
    const answer = askSecret(openAsking(), { message: 'Token', instead: 'use stdin' });
    expect(await answered(answer, 'xyzzy\r')).toBe('xyzzy');
    for (const letter of 'xyz') expect(screen.replaceAll('Token', '')).not.toContain(letter);
  });

  it.each([
    ['\r', false],
    ['y\r', true],
    ['n\r', false],
  ])('a yes/no prompt maps the keys %j to %s', async (keys, yes) => {
    const answer = askYesNo(openAsking(), { message: 'Delete it?', instead: 'pass --yes' });
    expect(await answered(answer, keys)).toBe(yes);
    expect(screen).toContain('y/N');
  });

  const INTERRUPTED = { kind: 'interrupted', exitCode: 130 };
  const REASON = new FleetError('terminated', 'terminated');
  it.each<[what: string, keys: string, then: () => void, error: object]>([
    ['Ctrl-C', '\x03', () => {}, INTERRUPTED],
    ['Ctrl-D', '\x04', () => {}, INTERRUPTED],
    ['the end of stdin', 'half', () => stdin.end(), INTERRUPTED],
    ['a signal, and has its reason', 'half', () => abort.abort(REASON), REASON],
  ])('a prompt is interrupted by %s', async (_what, keys, then, error) => {
    const answer = askText(openAsking(), QUESTION);
    await Promise.all([expect(answer).rejects.toMatchObject(error), type(keys).then(then)]);
  });

  it('ignores keys that arrive together with Ctrl-C', async () => {
    const late: unknown[] = [];
    const onLate = (reason: unknown) => late.push(reason);
    process.on('unhandledRejection', onLate);
    const refuse = () => 'write good';
    const answer = askText(openAsking(), { ...QUESTION, refuse });
    const then = () => stdin.write('\x03\r');
    await Promise.all([expect(answer).rejects.toMatchObject(INTERRUPTED), type('go').then(then)]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off('unhandledRejection', onLate);
    expect(late).toEqual([]);
    expect(screen).not.toContain('write good');
  });
});

it.each([
  ['stdin is a pipe', { stdin: false }, 'without a terminal'],
  ['stderr is a pipe', { stderr: false }, 'without a terminal'],
  ['--no-input was given', { input: false }, 'with --no-input'],
])('does not prompt when %s', async (_when, at, why) => {
  const asking = openAsking(at);
  expect(canAsk(asking)).toBe(false);
  for (const ask of [askText, askSecret, askYesNo])
    await expect(ask(asking, QUESTION)).rejects.toMatchObject({
      kind: 'usage',
      message: `cannot ask ${why}: Address`,
      hint: 'pass --base-url',
    });
  expect(screen).toBe('');
});
