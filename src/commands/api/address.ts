// Resolves the path of `fleet api`: below the base URL, or a whole URL at its origin.

import { usageError } from '../../errors.js';
import type { HttpRequest } from '../../http/types.js';

export interface Address extends Pick<HttpRequest, 'path' | 'isFromOrigin'> {
  /** The query as it was typed, question mark included; '' for none. */
  search: string;
}

const WHOLE_URL = /^[a-z][a-z0-9+.-]*:[/\\]{2}/i;

/**
 * Reads the argument of `fleet api`. Throws a usage error for what would leave the base URL's origin, where the token goes and
 * nowhere else (cli.md section 4, promise 2), and for a path that climbs out of the base URL's prefix.
 */
export function readAddress(text: string, baseUrl: URL): Address {
  // URL leaves them out, and something else would be asked for.
  if (/[\u0000-\u001f\u007f]/.test(text))
    throw usageError('the path holds a line end or another control character', 'write it percent-encoded: %0A');
  if (WHOLE_URL.test(text)) return readWholeUrl(text, baseUrl);
  if (/^[/\\]{2}/.test(text)) {
    throw usageError(
      `"${text}" names another host`,
      `a path begins with one slash; a whole URL with ${baseUrl.protocol}//`,
    );
  }
  const prefix = baseUrl.pathname.replace(/\/+$/, '');
  const whole = `${baseUrl.origin}${prefix}/${text.replace(/^\//, '')}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  if (url === undefined || url.origin !== baseUrl.origin) throw usageError(`"${text}" is not a path`);
  if (!url.pathname.startsWith(`${prefix}/`)) {
    throw usageError(
      `"${text}" leads out of ${baseUrl.href}`,
      'for another path of the same origin give the whole URL',
    );
  }
  return { path: url.pathname.slice(prefix.length), search: url.search };
}

function readWholeUrl(text: string, baseUrl: URL): Address {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw usageError(`"${text}" is not a URL`);
  if (url.username !== '' || url.password !== '') {
    throw usageError('a URL must not contain a user name or password', 'the token of the settings is sent instead');
  }
  if (url.origin !== baseUrl.origin) {
    throw usageError(
      `${url.origin} is not the service's origin, which is ${baseUrl.origin}; nothing was sent`,
      'the token goes to no other address; give only the path, or choose the other service with --base-url or --profile',
    );
  }
  return { path: url.pathname, isFromOrigin: true, search: url.search };
}
