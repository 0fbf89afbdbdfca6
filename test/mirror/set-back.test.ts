// Tests that a writer notices a restored database before its first batch. Later restores are tested
// with the built program in test/commands/mirror-set-back.test.ts.

import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { commit, prepare, resume } from '../../src/mirror/write.js';
import { SetBack, takeLease, type Writer } from '../../src/mirror/writers.js';
import { openedDatabase, useEngines } from '../support/mirror.js';

const writer: Writer = { owner: randomUUID(), host: 'here', pid: 1, organizations: ['a', 'b'] };

describe.each(useEngines())('%s', (_kind, newText) => {
  test('does not write the first batch to a database restored from an older backup', async () => {
    const database = await openedDatabase(await newText());
    await prepare(database, new URL('https://service.test/'));
    await takeLease(database, writer);
    const write = (batchId: string, previousBatchIds: readonly (string | undefined)[]) =>
      commit(database, writer, {
        writes: { bicycles: [], changes: [], steps: [] },
        gap: undefined,
        isSameGap: true,
        state: {
          owner: writer.owner,
          organizations: writer.organizations,
          batch: 1,
          batchId,
          heardMs: 0,
          checkedMs: 0,
          isWhole: true,
          proven: undefined,
          behindMs: 0,
        },
        previousBatchIds,
        nowMs: 0,
      });

    await write('monday', (await resume(database, writer)).batchIds);
    const backup = await database.all('SELECT organization, state FROM writers');
    await write('tuesday', ['monday', 'monday']);
    const found = await resume(database, writer);
    for (const { organization, state } of backup)
      await database.all('UPDATE writers SET state = ? WHERE organization = ?', [
        String(state),
        String(organization),
      ]);

    await expect(write('wednesday', found.batchIds)).rejects.toThrow(SetBack);
    await write('wednesday', (await resume(database, writer)).batchIds);
  });
});
