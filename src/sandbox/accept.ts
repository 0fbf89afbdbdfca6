// The Accept header: media types and the version parameter (interface.md section 9).
import { refuse } from './problem.js';

/** The only version there is. Assumed: "Other supported versions … not shown". */
export const API_VERSION = '1.0';

/** What an Accept header may name when JSON is what comes. */
export const JSON_MEDIA_TYPES = ['application/json', 'application/*', '*/*'];

/** What an Accept header may name when an event stream comes; "headers work as for ordinary requests" (section 4.6). */
export const STREAM_MEDIA_TYPES = ['text/event-stream', 'text/*', ...JSON_MEDIA_TYPES];

/**
 * Throws a 406 Problem when the header names none of the media types, or any version but 1.0. Assumed: no header, and
 * a header without a version, mean 1.0, unless one is needed, as observed.
 */
export function checkAccept(header: string | undefined, mediaTypes: readonly string[], needsVersion: boolean): void {
  if (needsVersion && !/;\s*version\s*=/i.test(header ?? '')) {
    throw refuse(406, 'The "Accept" header names no version.', 'not_acceptable');
  }
  if (header === undefined || header.trim() === '') return;
  let acceptable = false;
  for (const range of header.split(',')) {
    const [mediaType = '', ...parameters] = range.split(';');
    const values = new Map(parameters.map(parseParameter));
    const version = values.get('version');
    if (version !== undefined && version !== API_VERSION) {
      throw refuse(406, `Invalid version in "Accept" header: '${version}'.`, 'not_acceptable');
    }
    if (mediaTypes.includes(mediaType.trim().toLowerCase()) && Number(values.get('q') ?? 1) > 0) acceptable = true;
  }
  if (!acceptable) throw refuse(406, 'Could not satisfy the request Accept header.', 'not_acceptable');
}

function parseParameter(text: string): [string, string] {
  const [name = '', value = ''] = text.split(/=(.*)/s);
  return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/s, '$1')];
}
