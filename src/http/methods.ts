// The HTTP methods that fleet sends.

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/**
 * Whether requests with this method only read data. Fleet sends such requests without a body, and
 * can safely retry them (RFC 9110, 9.2.1).
 */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}
