// Tests that column names of tables can be used as field names.

import { describe, expect, test } from 'vitest';
import { BICYCLE } from '../../src/api/bicycle.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 80 });
const fleet = async (...args: string[]) =>
  runFleet(args, {
    env: { FLEET_BASE_URL: sandbox().baseUrl, FLEET_TOKEN: await sandbox().token() },
  });
const list = (...args: string[]) => fleet('bicycles', 'list', '--all', '-o', 'uuid', ...args);

describe('the column names charge, seen and id', () => {
  test.each([
    ['--where', 'charge<20', 'state_of_charge<20'],
    ['--where', 'CHARGE<20', 'state_of_charge<20'],
    ['--where', 'seen<-2h', 'latest_gps_timestamp<-2h'],
    ['--ordering', 'charge', 'state_of_charge'],
    ['--ordering', '-charge,id', '-state_of_charge,uuid'],
  ])('in %s, the column %s means %s', async (flag, word, field) => {
    const [said, meant] = [await list(flag, word), await list(flag, field)];
    expect(said).toEqual(meant);
    expect([said.code, said.stderr, said.stdout === '']).toEqual([0, '', false]);
  });

  test('`stats --by seen` counts by time, and `--by charge` counts by ranges of ten percent', async () => {
    const by = async (group: string) =>
      (await fleet('bicycles', 'stats', '--by', group, '-o', 'csv')).stdout;
    expect((await by('seen')).split('\n').length).toBeGreaterThan(10);
    expect(await by('seen')).toContain('latest_gps_timestamp,');
    expect(await by('charge')).toContain('charge,');
  });

  test('the column names charge, seen and id also work for alerts', async () => {
    const alerts = (type: string, ordering: string) =>
      fleet(
        ...'alerts list --all -o uuid'.split(' '),
        '--where',
        `${type}=lock.bat.low`,
        '--ordering',
        ordering,
      );
    const said = await alerts('type', '-age');
    const meant = await alerts('alert_type', '-created');
    expect(said).toEqual(meant);
    expect([said.code, said.stdout === '']).toEqual([0, false]);
  });
});

describe('values of --ordering', () => {
  test.each(BICYCLE.orderings)('%s works without a warning', async (field) => {
    expect(await list('--ordering', field)).toMatchObject({ code: 0, stderr: '' });
  });

  test.each([
    ['latitude', 6],
    ['bleid', 7],
  ])('%s causes an error that lists the usual orderings', async (field, code) => {
    const run = await fleet('bicycles', 'list', '--ordering', field, '--retries', '0');
    expect(run.code).toBe(code);
    expect(run.stderr).toContain(
      'hint: orderings that usually work: created, modified, name, state, ',
    );
  });
});

test('--name filters by name even when the service matches other fields too', async () => {
  const [one, two, three] = sandbox().bicycles();
  sandbox().changeBicycle(one?.uuid ?? '', { name: 'Zoq 1' });
  sandbox().changeBicycle(two?.uuid ?? '', { name: 'zoq' });
  sandbox().changeBicycle(three?.uuid ?? '', { name: 'Other', serial_number: 'zoq-77' });
  const run = await list('--name', 'ZOQ');
  expect(run.stdout.trimEnd().split('\n').sort()).toEqual([one?.uuid, two?.uuid].sort());
  expect(run.stderr).toBe('');
  expect(sandbox().requests.at(-1)?.url).toContain('name=ZOQ&query=ZOQ');
});
