// Which addresses are this machine's own.

/** Whether an address stays on this machine: never asked through a proxy, and the only kind reached by plain http without leave. */
export function isLoopback({ hostname }: Pick<URL, 'hostname'>): boolean {
  // URL has already brought every spelling of an IPv4 address to four numbers.
  return /^(?:localhost\.?|127\.\d+\.\d+\.\d+|\[?::1\]?)$/i.test(hostname);
}
