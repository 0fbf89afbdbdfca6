// Which names and addresses are this machine's own.

/** Whether a name is this machine's own, as RFC 6761 section 6.3 reserves it: `localhost` and all names below it. */
export function isOwnName(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return name === 'localhost' || name.endsWith('.localhost');
}

/**
 * Whether an address stays on this machine: never asked through a proxy, and the only kind reached by plain http without leave. No
 * resolver is asked for its names (`dial.ts`). URL has already brought every spelling of an IPv4 address to four numbers.
 */
export function isLoopback(url: URL): boolean {
  const host = url.hostname.replace(/\.$/, '');
  return isOwnName(host) || /^127\.\d+\.\d+\.\d+$/.test(host) || host === '[::1]';
}
