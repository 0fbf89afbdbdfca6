// Tests a mirror after the service refused its first run.

import { expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { organizationOf } from '../support/made-mirror.js';
import { useEngines, withDatabase } from '../support/mirror.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 30, rate: 0 });

test.each(useEngines())(
  'reports no gap when the service refused the first `mirror once` (%s)',
  async (_kind, newText) => {
    const to = await newText();
    const env: NodeJS.ProcessEnv = {
      ...(await environmentOf(sandbox())),
      FLEET_ORGANIZATION: organizationOf(sandbox()),
    };
    const refused = { ...env, FLEET_TOKEN: `${env['FLEET_TOKEN']?.slice(0, -4)}AAAA` };
    const once = (environment: NodeJS.ProcessEnv) =>
      runFleet(['mirror', 'once', '--to', to], { env: environment });
    expect(await once(refused)).toMatchObject({ code: 4 });
    expect(await once(env)).toMatchObject({ code: 0 });
    const gaps = await withDatabase(to, (database) => database.all('select reason from gaps'));
    expect(gaps).toEqual([]);
  },
);
