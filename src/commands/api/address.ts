// Resolves the URL that is passed to `fleet api`: a path below the base URL, or a complete URL with
// the same origin as the base URL.

import { usageError } from '../../errors.js';
import type { HttpRequest } from '../../http/types.js';

export interface Address extends Pick<HttpRequest, 'path' | 'isFromOrigin'> {
  /** The typed query, including its question mark. Empty when there is no query. */
  search: string;
}

const WHOLE_URL = /^[a-z][a-z0-9+.-]*:[/\\]{2}/i;

/**
 * Parses the argument of `fleet api`. Throws a usage error for a URL with a different origin or
 * outside the base URL's path prefix. The token is sent only to the base URL's origin (cli.md
 * section 4, promise 2).
 */
export function readAddress(text: string, baseUrl: URL): Address {
  // Control characters are refused here, because the URL parser would remove them. The request
  // would then go to a different address than the user typed.
  if (/[\u0000-\u001f\u007f]/.test(text))
    throw usageError(
      'the path contains a line break or another control character',
      'percent-encode the character: for example, write a line break as %0A',
    );
  const isWhole = WHOLE_URL.test(text);
  const prefix = baseUrl.pathname.replace(/\/+$/, '');
  const namesHost = isWhole || /^[/\\]{2}/.test(text);
  const whole = namesHost ? text : `${baseUrl.origin}${prefix}/${text.replace(/^\//, '')}`;
  if (!URL.canParse(whole, baseUrl)) throw usageError(`"${text}" is neither a path nor a URL`);
  const { origin, username, password, pathname, search } = new URL(whole, baseUrl);
  if (username !== '' || password !== '')
    throw usageError(
      'a URL must not contain a user name or password',
      'fleet sends the token from the settings',
    );
  if (origin !== baseUrl.origin)
    throw usageError(
      `${origin} is not the service's origin, which is ${baseUrl.origin}; nothing was sent`,
      'the token goes to no other address; pass only the path, or choose the other service with --base-url or --profile',
    );
  if (isWhole) return { path: pathname, isFromOrigin: true, search };
  if (!pathname.startsWith(`${prefix}/`))
    throw usageError(
      `"${text}" is outside ${baseUrl.href}`,
      'to request another path of the same origin, pass the whole URL',
    );
  return { path: pathname.slice(prefix.length), search };
}
