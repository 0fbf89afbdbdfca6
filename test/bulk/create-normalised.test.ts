// Creations at a service that normalizes texts. No creation may be sent twice after a lost answer,
// or reported as refused when it may have happened.

import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compareStored, isSimilarName, type StoredForm } from '../../src/bulk/outcome.js';
import { parseFault, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { openQuickClock } from '../support/fast-clock.js';
import { newFolder } from '../support/folder.js';
import { newJournal } from '../support/journal.js';
import { PROGRAM_ARGS, PROGRAM_FILE } from '../support/program.js';
import { jsonLines, runFleet } from '../support/run.js';
import { openSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

const TEXTS = ['  Ada ', 'Jose\u0301 ', 'straße', 'A name of many words', 'Tab\tin it '];
const ROWS = TEXTS.map((name) => ({ name, description: 'line 1\nline 2' }));

type Store = NonNullable<SandboxOptions['storedText']>;

const STORES: readonly (readonly [name: string, store: Store])[] = [
  ['trims', (text) => text.trim()],
  ['normalises to NFC', (text) => text.normalize('NFC').trim()],
  ['stores upper case', (text) => text.toUpperCase()],
  ['cuts after 4 characters', (text) => text.slice(0, 4)],
  ['stores LF as CRLF, and trims', (text) => text.trim().replaceAll('\n', '\r\n')],
  ['collapses white space', (text) => text.replace(/\s+/g, ' ').trim()],
  ['stores null for an empty text', (text) => (text === '' ? null : text.trim())],
];

async function fileOf(rows: readonly object[]): Promise<string> {
  const path = join(newFolder(), 'rows.jsonl');
  await writeFile(path, rows.map((row) => JSON.stringify(row)).join('\n'));
  return path;
}

interface Command {
  sandbox: Sandbox;
  file: string;
  journal: string;
}

async function environment(sandbox: Sandbox): Promise<NodeJS.ProcessEnv> {
  const organization = sandbox.organizations[0]?.uuid ?? '';
  return { ...(await environmentOf(sandbox)), FLEET_ORGANIZATION: organization };
}

const argsOf = ({ file, journal }: Command) => [
  ...['bicycles', 'create', '--from', file, '--journal', journal],
  ...['--yes', '--json', '--settle', '1'],
];

async function create(command: Command, ...flags: string[]) {
  const run = await runFleet([...argsOf(command), ...flags], {
    clock: openQuickClock(),
    env: await environment(command.sandbox),
  });
  const outcomes = jsonLines<{ outcome: string }>(run.stdout).map(({ outcome }) => outcome);
  return { ...run, outcomes };
}

const lostAnswers = () => ({
  ...parseFault('cut=100%'),
  only: ({ method }: { method: string }) => method === 'POST',
});

test.each(
  STORES.flatMap(([name, store]) =>
    (['interface', 'observed'] as const).map((service) => [name, service, store] as const),
  ),
)(
  'lost responses never cause duplicate bicycles on a service that %s (%s)',
  async (_name, service, store) => {
    const faults = [lostAnswers()] as SandboxOptions['faults'] & object;
    const sandbox = await openSandbox({ bicycles: 5, service, storedText: store, faults });
    const command = { sandbox, file: await fileOf(ROWS), journal: newJournal() };
    const first = await create(command);
    expect(first.code).not.toBe(0);
    expect(sandbox.bicycles()).toHaveLength(5 + ROWS.length);
    sandbox.setFaults([]);
    const second = await create(command);
    expect(sandbox.bicycles()).toHaveLength(5 + ROWS.length);
    expect(second.outcomes.filter((one) => one !== 'unknown' && one !== 'done')).toEqual([]);
    expect(second.outcomes).toContain('unknown');
    expect(second.code).toBe(9);
  },
);

test('reports an unanswered create request as done when the service lists the bicycle', async () => {
  const faults = [lostAnswers()] as SandboxOptions['faults'] & object;
  const sandbox = await openSandbox({ bicycles: 5, faults });
  const file = await fileOf([{ name: 'Ada' }, { name: 'Bea' }]);
  const command = { sandbox, file, journal: newJournal() };
  await create(command);
  sandbox.setFaults([]);
  const second = await create(command);
  expect([second.code, second.outcomes]).toEqual([0, ['done', 'done']]);
  expect(sandbox.bicycles()).toHaveLength(7);
});

test('a resent create request rejected as a duplicate stays unknown', async () => {
  const faults = [lostAnswers()] as SandboxOptions['faults'] & object;
  const sandbox = await openSandbox({ bicycles: 5, faults: [...faults, { kind: 'trim' }] });
  const file = await fileOf([{ name: 'Ada ' }, { name: ' Bea' }]);
  const command = { sandbox, file, journal: newJournal() };
  await create(command);
  sandbox.setFaults([{ kind: 'trim' }]);
  const resent = await create(command, '--unknown', 'resend');
  expect(resent.stdout).toContain('must make a unique set');
  expect(resent.outcomes).toEqual(['unknown', 'unknown']);
  expect((await create(command)).outcomes).toEqual(['unknown', 'unknown']);
  expect(sandbox.bicycles()).toHaveLength(7);
});

/** Starts a gateway that forwards all requests but does not answer creations. */
async function openSilentGateway(sandbox: Sandbox): Promise<string> {
  const { url } = await openServer(async (response, { method, path, headers, body }) => {
    const passed = {
      authorization: String(headers.authorization),
      accept: String(headers.accept),
      'content-type': 'application/json',
    };
    const sent = method === 'POST' ? { body } : {};
    const answer = await fetch(`${sandbox.baseUrl}${path}`, { method, headers: passed, ...sent });
    if (method !== 'POST') sendJson(response, answer.status, await answer.text(), dateOf(answer));
  });
  return url;
}

function dateOf({ headers }: Response): { date: string } {
  return { date: headers.get('date') ?? '' };
}

test('a run resumed after kill -9 does not create a bicycle twice', async () => {
  const sandbox = await openSandbox({ bicycles: 5, faults: [{ kind: 'trim' }] });
  const command = { sandbox, file: await fileOf(ROWS), journal: newJournal() };
  const env = { ...(await environment(sandbox)), FLEET_BASE_URL: await openSilentGateway(sandbox) };
  const child = spawn(PROGRAM_FILE, [...PROGRAM_ARGS, ...argsOf(command)], {
    env: { ...process.env, ...env },
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  while (sandbox.bicycles().length < 5 + ROWS.length)
    await new Promise((resolve) => setTimeout(resolve, 10));
  child.kill('SIGKILL');
  await ended;
  const { code, outcomes } = await create(command, ...['--base-url', env.FLEET_BASE_URL]);
  expect(sandbox.bicycles()).toHaveLength(5 + ROWS.length);
  expect(code).toBe(9);
  expect(outcomes).toHaveLength(ROWS.length);
  expect(outcomes.filter((one) => one !== 'unknown' && one !== 'done')).toEqual([]);
});

test('reports a created bicycle as done even when the service changed its name', async () => {
  const sandbox = await openSandbox({ bicycles: 5, storedText: (text) => text.toUpperCase() });
  const command = { sandbox, file: await fileOf([{ name: 'Ada' }]), journal: newJournal() };
  const { code, outcomes, stderr } = await create(command);
  expect([code, outcomes]).toEqual([0, ['done']]);
  expect(jsonLines(stderr)).toContainEqual({ notice: 'the service stored "Ada" as "ADA"' });
});

test.each<[sent: string, stored: string, form: StoredForm]>([
  ['Ada', 'Ada', 'same'],
  [' Ada ', 'Ada', 'normalised'],
  ['Jose\u0301', 'José', 'normalised'],
  ['straße', 'STRASSE', 'normalised'],
  ['ΑΣΒ', 'ασβ', 'normalised'],
  ['a\nb', 'a\r\nb', 'normalised'],
  ['ﬁn', 'fin', 'normalised'],
  ['Jose\u0301', 'Jose', 'cut'],
  ['👩‍🚀 Valentina', '\ud83d', 'other'],
  ['Ada 0042', 'Ada 00', 'cut'],
  ['Ada 0042', 'Ada 00…', 'cut'],
  ['Ada', 'Ada 2', 'other'],
  ['Ada', '', 'other'],
  ['Ada', 'Bea', 'other'],
])('compares the sent name %j with the stored name %j: %s', (sent, stored, form) => {
  expect(compareStored(sent, stored)).toBe(form);
});

test('treats a missing name as similar to every name', () => {
  expect(isSimilarName('Ada', null)).toBe(true);
  expect(isSimilarName('Ada', '')).toBe(true);
  expect(isSimilarName('José', 'jose')).toBe(true);
  expect(isSimilarName('Ada', 'Bea')).toBe(false);
});
