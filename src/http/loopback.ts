// Decides whether an address belongs to the local machine.

/**
 * Whether an address belongs to the local machine. Fleet never uses a proxy for such an address,
 * and allows plain http without a flag.
 */
export function isLoopback({ hostname }: Pick<URL, 'hostname'>): boolean {
  // The `URL` class has already converted every notation of an IPv4 address to four decimal
  // numbers.
  return /^(?:localhost\.?|127\.\d+\.\d+\.\d+|\[?::1\]?)$/i.test(hostname);
}
