// The words of conditions on messages: their fields and states.

import { ALERT } from '../../api/alert.js';
import { BICYCLE } from '../../api/bicycle.js';
import { SENDERS } from '../../api/push.js';
import type { Vocabulary } from '../../api/resource.js';

/**
 * The fields and states of all messages. Messages are about bicycles or alerts, and both have a
 * `state`.
 */
export const MESSAGES: Vocabulary = {
  ...BICYCLE,
  fields: [...new Set([...BICYCLE.fields, ...ALERT.fields, 'sender', 'topic'])],
  times: [...new Set([...BICYCLE.times, ...ALERT.times])],
  words: {
    ...ALERT.words,
    sender: SENDERS,
    state: [BICYCLE, ALERT].flatMap(({ words }) => words['state'] ?? []),
  },
};
