// Tests that a mirror finds bicycles by a part of their name. The transcripts
// test/transcripts/bicycles/get*.md show the same at a service.

import { describe, expect, onTestFinished, test } from 'vitest';
import { type Sandbox, type ServiceKind, startSandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { makeMirror } from '../support/made-mirror.js';
import { useEngines } from '../support/mirror.js';
import { type RunOptions, runFleet } from '../support/run.js';

const engines = useEngines();
const KINDS: readonly ServiceKind[] = ['observed', 'interface'];

/** Starts a service with three bicycles whose names, serial numbers and bleids are known. */
async function openNamed(service: ServiceKind = 'observed') {
  const sandbox = await startSandbox({ bicycles: 30, rate: 0, service });
  onTestFinished(() => sandbox.close());
  const [one, two, three] = sandbox
    .bicycles(sandbox.organizations[0]?.uuid)
    .filter(({ state }) => state === 'available');
  if (one === undefined || two === undefined || three === undefined)
    throw new Error('the sandbox has too few available bicycles');
  const named = (uuid: string, name: string, serial: string, bleid: string) =>
    sandbox.changeBicycle(uuid, { name, serial_number: serial, bleid });
  named(one.uuid, 'Quokka Nörd 0001', 'QX-77892-Q', 'q:aa');
  named(two.uuid, 'Quokka Nörd 0002', 'QX-11111-Q', 'q:bb');
  named(three.uuid, 'Quokka', 'QX-22222-Q', 'q:cc');
  const fleet = async (words: readonly string[], options: RunOptions = {}) =>
    runFleet(words, { ...options, env: { ...(await environmentOf(sandbox)), ...options.env } });
  return { sandbox, fleet, uuids: { one: one.uuid, two: two.uuid, three: three.uuid } };
}

function sentChanges({ requests }: Sandbox): number {
  return requests.filter(({ method }) => method !== 'GET').length;
}

describe.each(KINDS)('looking up a bicycle at a service of type %s', (service) => {
  test.each(['NFC', 'NFD'] as const)('`get` finds a name in another form than %s', async (form) => {
    const { fleet, sandbox, uuids } = await openNamed(service);
    sandbox.changeBicycle(uuids.one, { name: 'Quokka Nörd 0001'.normalize(form) });
    for (const other of ['NFC', 'NFD'] as const) {
      const run = await fleet(['bicycles', 'get', 'nörd 0001'.normalize(other), '--json']);
      expect(run).toMatchObject({ code: 0 });
      expect(JSON.parse(run.stdout)).toMatchObject({ uuid: uuids.one });
    }
  });

  test("rejects a short string that matches one UUID and another bicycle's name", async () => {
    const { fleet, sandbox, uuids } = await openNamed(service);
    const short = uuids.one.slice(0, 4);
    sandbox.changeBicycle(uuids.two, { name: `Quokka ${short.toUpperCase()}` });
    const run = await fleet(['bicycles', 'act', short, 'rent', '--yes']);
    expect([run.code, run.stdout, sentChanges(sandbox)]).toEqual([2, '', 0]);
    expect(run.stderr).toContain(`"${short}" matches 2 bicycles; nothing was sent`);
    const long = await fleet(['bicycles', 'get', uuids.one.slice(0, 8), '--json']);
    expect(JSON.parse(long.stdout)).toMatchObject({ uuid: uuids.one });
  });
});

test.each(engines)(
  'a mirror finds bicycles by parts of their names, ignoring case (%s)',
  async (_kind, newText) => {
    const { fleet, sandbox, uuids } = await openNamed();
    const to = await newText();
    await makeMirror(to, { sandbox });
    const find = (text: string) =>
      fleet(['bicycles', 'get', text, '--json', '--offline', '--to', to]);
    for (const text of ['NÖRD 0001', '77892', 'x-77892']) {
      const run = await find(text);
      expect(run).toMatchObject({ code: 0 });
      expect(JSON.parse(run.stdout)).toMatchObject({ uuid: uuids.one });
    }
    const several = await find('nörd');
    expect([several.code, several.stderr]).toEqual([2, expect.stringContaining('matches 2')]);
    expect((await find('x_77892')).code).toBe(5);
  },
);

test.each(engines)(
  'a mirror finds all bicycles that match an ambiguous name (%s)',
  async (_kind, newText) => {
    const sandbox = await startSandbox({ bicycles: 260, rate: 0 });
    onTestFinished(() => sandbox.close());
    const all = sandbox.bicycles(sandbox.organizations[0]?.uuid);
    for (const [index, { uuid }] of all.entries()) {
      const isTwin = index < 2 || index >= all.length - 2;
      sandbox.changeBicycle(uuid, { name: `${isTwin ? 'Ö' : 'A'}0 bike ${index}` });
    }
    const to = await newText();
    await makeMirror(to, { sandbox });
    const env = await environmentOf(sandbox);
    const run = await runFleet(['bicycles', 'get', 'ö0', '--offline', '--to', to], { env });
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining('"ö0" matches 4 bicycles')]);
  },
);

test.each(engines)(
  'a mirror finds composed and decomposed Unicode names (%s)',
  async (_kind, newText) => {
    const { fleet, sandbox, uuids } = await openNamed();
    const short = uuids.one.slice(0, 4);
    sandbox.changeBicycle(uuids.one, { name: 'Quokka Nörd 0001'.normalize('NFD') });
    sandbox.changeBicycle(uuids.two, { name: `Quokka ${short.toUpperCase()}` });
    const to = await newText();
    await makeMirror(to, { sandbox });
    const find = (text: string) =>
      fleet(['bicycles', 'get', text, '--json', '--offline', '--to', to]);
    for (const text of ['Quokka Nörd 0001', 'NÖRD 0001'])
      for (const form of ['NFC', 'NFD'])
        expect(JSON.parse((await find(text.normalize(form))).stdout)).toMatchObject({
          uuid: uuids.one,
        });
    const several = await find(short);
    expect([several.code, several.stderr]).toEqual([2, expect.stringContaining('matches 2')]);
  },
);
