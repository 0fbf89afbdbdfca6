// What the document says of the fields of bicycles and alerts, so that a slip in a condition is found before anything is sent.

import { ALERT_FIELDS, ALERT_ORDERINGS, ALERT_STATES, ALERT_TYPES } from '../../api/alert.js';
import { BICYCLE_FIELDS, BICYCLE_NUMBERS, BICYCLE_ORDERINGS, BICYCLE_STATES } from '../../api/bicycle.js';
import type { Vocabulary } from './where.js';

/** Assumed: the decimal numbers and timestamps of interface.md section 2.1 are sent as such or as strings of that form. */
export const BICYCLE_VOCABULARY: Vocabulary = {
  noun: 'bicycle',
  fields: BICYCLE_FIELDS,
  orderings: BICYCLE_ORDERINGS,
  numbers: BICYCLE_NUMBERS,
  times: ['created', 'modified', 'latest_gps_timestamp'],
  words: { state: BICYCLE_STATES },
};

/** Interface.md section 2.2. */
export const ALERT_VOCABULARY: Vocabulary = {
  noun: 'alert',
  fields: ALERT_FIELDS,
  orderings: ALERT_ORDERINGS,
  numbers: [],
  times: ['created', 'modified'],
  words: { state: ALERT_STATES, alert_type: ALERT_TYPES },
};
