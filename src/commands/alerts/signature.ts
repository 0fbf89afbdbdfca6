// The signature of a webhook: `sha256=` and the HMAC-SHA256 of the body in hexadecimal digits, compared in constant time.

import { createHmac, timingSafeEqual } from 'node:crypto';

/** Whether the header holds the signature of the body. Assumed: section 6.2 shows none. */
export function isSigned(secret: string, body: Buffer, header: string | undefined): boolean {
  const expected = createHmac('sha256', secret).update(body).digest();
  const [, digits = ''] = /^sha256=([0-9a-f]{64})$/i.exec(header?.trim() ?? '') ?? [];
  const given = Buffer.from(digits, 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
