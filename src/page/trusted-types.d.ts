// The types of the browser's Trusted Types, which TypeScript's library lacks.

interface Window {
  readonly trustedTypes?: {
    createPolicy(name: string, rules: { createScriptURL(url: string): string }): unknown;
  };
}
