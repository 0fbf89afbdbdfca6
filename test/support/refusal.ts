// What an error says, for `rejects.toMatchObject`.

import { expect } from 'vitest';
import type { FleetError } from '../../src/errors.js';

export const refusal = (kind: FleetError['kind'], message: RegExp) => ({
  kind,
  message: expect.stringMatching(message),
});
