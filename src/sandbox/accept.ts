// The Accept header: media types and the version parameter (interface.md section 9).
import { refuse } from './problem.js';

/**
 * The only version that the sandbox supports. Assumed, because interface.md says: "Other supported
 * versions … not shown".
 */
export const API_VERSION = '1.0';

/** Media types that accept JSON and event streams. */
export const JSON_MEDIA_TYPES = /application\/(?:json|\*)|\*\/\*/i;
export const STREAM_MEDIA_TYPES = /text\/event-stream|application\/json|\*\/\*/i;

/**
 * Throws a 406 Problem when the header does not accept the media type, or names a version other
 * than 1.0. Assumed: a missing header or a header without a version means version 1.0. With
 * `needsVersion`, as observed, a missing version is refused.
 */
export function checkAccept(
  header: string | undefined,
  mediaTypes: RegExp,
  needsVersion: boolean,
): void {
  const versions = [...(header ?? '').matchAll(/;\s*version\s*=\s*"?([^\s",;]*)/gi)].map(
    ([, version]) => version,
  );
  const refusal = (message: string) => refuse(406, message, 'not_acceptable');
  if (needsVersion && versions.length === 0) throw refusal('The "Accept" header names no version.');
  for (const version of versions)
    if (version !== API_VERSION) throw refusal(`Invalid version in "Accept" header: '${version}'.`);
  if (header !== undefined && !mediaTypes.test(header))
    throw refusal('Could not satisfy the request Accept header.');
}
