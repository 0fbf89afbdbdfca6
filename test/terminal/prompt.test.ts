// Shows what a question looks like, what answers it, and where nobody is asked.

import { PassThrough, Writable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.js';
import { FleetError } from '../../src/errors.js';
import { openIo } from '../../src/terminal/io.js';
import { type Asking, askSecret, askText, askYesNo, canAsk } from '../../src/terminal/prompt.js';

let stdin: PassThrough;
let screen: string;
let abort: AbortController;

beforeEach(() => {
  stdin = new PassThrough();
  screen = '';
  abort = new AbortController();
});

function openAsking(at: { stdin?: boolean; stderr?: boolean; input?: boolean; env?: NodeJS.ProcessEnv } = {}): Asking {
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

/** Types what a person would, one key after the other. */
async function type(keys: string): Promise<void> {
  for (let tries = 0; screen === '' && tries < 500; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
  for (const key of keys) {
    stdin.write(key);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const QUESTION = { message: 'Address', instead: 'give --base-url' };

describe('a question', () => {
  it('is answered by what is typed before Enter', async () => {
    const answer = askText(openAsking(), QUESTION);
    await type('https://x\r');
    expect(await answer).toBe('https://x');
    expect(screen).toContain('? Address');
  });

  it('is asked again while the answer will not do', async () => {
    const refuse = (answer: string) => (answer === 'good' ? undefined : 'write good');
    const answer = askText(openAsking(), { ...QUESTION, refuse });
    await type('go\rgood\r');
    expect(await answer).toBe('good');
    expect(screen).toContain('write good');
  });

  it('leaves stderr open', async () => {
    const asking = openAsking();
    const answer = askText(asking, QUESTION);
    await type('a\r');
    await answer;
    await asking.io.stderr.write('and then');
    expect(screen).toMatch(/and then$/);
  });

  it('for a secret shows nothing of it', async () => {
    const answer = askSecret(openAsking(), { message: 'Token', instead: 'use stdin' });
    await type('xyzzy\r');
    expect(await answer).toBe('xyzzy');
    for (const letter of 'xyz') expect(screen.replaceAll('Token', '')).not.toContain(letter);
  });

  it.each([
    ['\r', false],
    ['y\r', true],
    ['n\r', false],
  ])('of yes or no, answered by %j, is %s', async (keys, yes) => {
    const answer = askYesNo(openAsking(), { message: 'Delete it?', instead: 'give --yes' });
    await type(keys);
    expect(await answer).toBe(yes);
    expect(screen).toContain('y/N');
  });

  it.each([
    ['Ctrl-C', '\x03'],
    ['Ctrl-D', '\x04'],
  ])('ends the program with %s', async (_name, keys) => {
    const answer = askText(openAsking(), QUESTION);
    const refused = expect(answer).rejects.toMatchObject({ kind: 'interrupted', exitCode: 130 });
    await type(keys);
    await refused;
  });

  it('ends quietly with keys that come together with Ctrl-C, also when they are no answer', async () => {
    const late: unknown[] = [];
    const onLate = (reason: unknown) => late.push(reason);
    process.on('unhandledRejection', onLate);
    const refuse = () => 'write good';
    const answer = askText(openAsking(), { ...QUESTION, refuse });
    const refused = expect(answer).rejects.toMatchObject({ kind: 'interrupted' });
    await type('go');
    stdin.write('\x03\r');
    await refused;
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off('unhandledRejection', onLate);
    expect(late).toEqual([]);
    expect(screen).not.toContain('write good');
  });

  it('ends when stdin ends', async () => {
    const answer = askText(openAsking(), QUESTION);
    const refused = expect(answer).rejects.toMatchObject({ kind: 'interrupted' });
    await type('half');
    stdin.end();
    await refused;
  });

  it('ends with the reason of the signal', async () => {
    const reason = new FleetError('terminated', 'terminated');
    const answer = askText(openAsking(), QUESTION);
    const refused = expect(answer).rejects.toBe(reason);
    await type('half');
    abort.abort(reason);
    await refused;
  });

  it('has no colours where none are wanted', async () => {
    const answer = askText(openAsking(), QUESTION);
    await type('a\r');
    await answer;
    expect(screen).not.toMatch(/\x1b\[\d+m/);
  });
});

describe('nobody is asked', () => {
  it.each([
    ['stdin is a pipe', { stdin: false }, 'without a terminal'],
    ['stderr is a pipe', { stderr: false }, 'without a terminal'],
    ['--no-input was given', { input: false }, 'with --no-input'],
  ])('when %s', async (_when, at, why) => {
    const asking = openAsking(at);
    expect(canAsk(asking)).toBe(false);
    for (const ask of [askText, askSecret, askYesNo])
      await expect(ask(asking, QUESTION)).rejects.toMatchObject({
        kind: 'usage',
        message: `cannot ask ${why}: Address`,
        hint: 'give --base-url',
      });
    expect(screen).toBe('');
  });
});
