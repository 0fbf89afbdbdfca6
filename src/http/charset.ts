// Decodes a response's text with the declared character set.

import { FleetError, type Trace } from '../errors.js';
import { decodeBytes, decodeForMessage } from '../system/charset.js';
import { foreignText } from './server-text.js';

const CHARSET_PARAMETER =
  /;\s{0,20}charset\s{0,20}=\s{0,20}(?:"([^"]{1,80})"|'([^']{1,80})'|([^\s;,"']{1,80}))/i;
const LONGEST_CONTENT_TYPE_CHARACTERS = 1000;

/** Returns the charset parameter of a `Content-Type` header, or undefined when it has none. */
export function declaredCharset(contentType: string | undefined): string | undefined {
  const text = contentType?.slice(0, LONGEST_CONTENT_TYPE_CHARACTERS) ?? '';
  const match = CHARSET_PARAMETER.exec(text);
  return match?.[1] ?? match?.[2] ?? match?.[3];
}

/** The status and headers of a response whose body is decoded. */
interface AnswerHead {
  status: number;
  headers: Readonly<Record<string, string>>;
  trace: Trace;
}

/**
 * Decodes the body of a response. Uses the byte order mark, the declared charset, or UTF-8, in this
 * order. Throws a FleetError of kind `service` when the body of a success response is invalid in
 * its charset. The user could otherwise write the wrong characters back to the service. Never
 * throws for an error response.
 */
export function decodeAnswer(bytes: Buffer, { status, headers, trace }: AnswerHead): string {
  const declared = declaredCharset(headers['content-type']);
  const isSuccess = status >= 200 && status < 300;
  if (!isSuccess) return decodeForMessage(bytes, declared);
  const decoded = decodeBytes(bytes, declared);
  if (decoded.problem === undefined) return decoded.text;
  const name = foreignText(declared ?? 'UTF-8', 40);
  if (decoded.problem === 'unknown-charset')
    throw new FleetError('service', `the answer has an unknown charset: "${name}"`, {
      status,
      trace,
      hint: 'the service must declare a charset such as utf-8 or iso-8859-1 in its Content-Type',
    });
  const source =
    declared === undefined
      ? 'and it declares no other charset'
      : 'although it declares this charset';
  throw new FleetError('service', `the answer is not valid ${name}, ${source}`, {
    status,
    trace,
    hint: 'the service must declare the charset of its text in Content-Type, such as "charset=iso-8859-1"',
  });
}

/** Decodes a body for display. Invalid bytes become U+FFFD. */
export function decodeForPeople(bytes: Buffer, contentType: string | undefined): string {
  return decodeForMessage(bytes, declaredCharset(contentType));
}
