// The prefix of the service's paths: "some samples prefix paths with /api and some do not" (interface.md section 4).

/** The prefix that some samples have. */
const PREFIX = '/api';

/** The addresses under which the service may answer instead: with and without the prefix, and without any path. */
export function prefixVariants(baseUrl: URL): URL[] {
  const path = baseUrl.pathname.replace(/\/+$/, '');
  const paths = [path.endsWith(PREFIX) ? path.slice(0, -PREFIX.length) : path + PREFIX, PREFIX, ''];
  return [...new Set(paths)]
    .filter((other) => other !== path)
    .map((other) => new URL(`${baseUrl.origin}${other || '/'}`));
}
