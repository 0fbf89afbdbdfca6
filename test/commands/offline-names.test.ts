// Tests that commands with --offline find an organization by its name.

import { expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { useEngines, withDatabase } from '../support/mirror.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 30, rate: 0 });

test.each(useEngines())(
  '--offline finds an organization by name in the mirror (%s)',
  async (_kind, newText) => {
    const to = await newText();
    const [{ uuid, name } = { uuid: '', name: '' }] = sandbox().organizations;
    const env = { ...(await environmentOf(sandbox())), FLEET_ORGANIZATION: name.toUpperCase() };
    const fleet = (...words: string[]) => runFleet([...words, '--to', to], { env });
    expect(await fleet('mirror', 'once')).toMatchObject({ code: 0 });
    const requests = sandbox().requests.length;
    const list = ['bicycles', 'list', '--offline', '--all', '-o', 'uuid'];
    const named = await fleet(...list);
    expect(named, named.stderr).toMatchObject({ code: 0 });
    expect(named.stdout).toBe((await fleet(...list, '--organization', uuid)).stdout);
    expect(named.stdout.split('\n').length).toBeGreaterThan(10);
    expect(await fleet(...list, '--organization', 'Nobody')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining(name),
    });
    expect(sandbox().requests).toHaveLength(requests);
    const kinds = await withDatabase(to, (database) =>
      database.all('select distinct kind from names order by kind'),
    );
    expect(kinds.map(({ kind }) => kind)).toEqual(['model', 'organization', 'zone']);
    await withDatabase(to, (database) => database.all('delete from names'));
    expect(await fleet(...list)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/has no names of organizations.*use the UUID/s),
    });
  },
);
