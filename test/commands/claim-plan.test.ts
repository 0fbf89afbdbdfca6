// Tests the file that remembers where a plan was applied.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { claimPlan } from '../../src/commands/apply/claim-plan.js';
import type { Context } from '../../src/context.js';
import { newFolder } from '../support/folder.js';

test('a concurrent run never reads a partly written claim file', async () => {
  const texts = new Set<string>();
  for (let round = 0; round < 100; round++) {
    const folder = newFolder();
    const io = { env: { XDG_STATE_HOME: folder, HOME: folder } } as unknown as Context['io'];
    const claim = join(folder, 'fleet', 'plans', 'sha256-1.json');
    const path = join(folder, 'monday.plan');
    const claiming = { isOver: false };
    const claimed = claimPlan({ io }, path, 'sha256:1').finally(() => {
      claiming.isOver = true;
    });
    while (!claiming.isOver) {
      if (existsSync(claim)) texts.add(readFileSync(claim, 'utf8').replace(folder, ''));
      await setImmediate();
    }
    expect(await claimed).toBe(path);
    texts.add(readFileSync(claim, 'utf8').replace(folder, ''));
  }
  expect([...texts]).toEqual(['{"path":"/monday.plan"}\n']);
});
