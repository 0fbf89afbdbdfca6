// Tests the client of a read-only profile. The transcript test/transcripts/config/read-only.md shows
// the commands.

import { expect, it } from 'vitest';
import { openTestClient } from '../support/client.js';
import { openServer, sendJson } from '../support/server.js';

it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
  'a read-only client rejects %s before it sends anything',
  async (method) => {
    const { url, asked } = await openServer((response) => sendJson(response, 200, {}));
    const readOnlyFailure = new Error('read-only') as never;
    const { client } = await openTestClient(url, { readOnlyFailure });
    const request = { method, path: '/x/' };
    await expect(client.send(request)).rejects.toThrow('read-only');
    await expect(client.probe(request)).rejects.toThrow('read-only');
    await client.send({ path: '/x/' });
    expect(asked.map((one) => one.method)).toEqual(['GET']);
  },
);
