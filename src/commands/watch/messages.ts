// The fields and states that can be used in conditions on pushed messages.

import { ALERT } from '../../api/alert.js';
import { BICYCLE } from '../../api/bicycle.js';
import { SENDERS } from '../../api/push.js';
import type { Vocabulary } from '../../api/resource.js';

/**
 * The fields and states of pushed messages. A message is about a bicycle or an alert, and both have
 * a `state`.
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
