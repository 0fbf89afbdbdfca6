// Decides whether an address belongs to this machine.

/**
 * Whether an address belongs to this machine. Such an address never uses a proxy, and plain http is
 * allowed without a flag.
 */
export function isLoopback({ hostname }: Pick<URL, 'hostname'>): boolean {
  // `URL` has already converted every spelling of an IPv4 address to four decimal numbers.
  return /^(?:localhost\.?|127\.\d+\.\d+\.\d+|\[?::1\]?)$/i.test(hostname);
}
