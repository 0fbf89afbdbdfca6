// The parsed flags of `fleet check`.

import type { DeliveryFlags } from '../../follow/delivery-flags.js';

export interface CheckOptions extends DeliveryFlags {
  organization?: string;
  show?: boolean;
  /** Milliseconds. */
  every?: number;
  /** Milliseconds. */
  for?: number;
  stateFile?: string;
}
