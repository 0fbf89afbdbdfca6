// What browsers with trusted types offer; TypeScript's own library does not know it yet.

interface Window {
  readonly trustedTypes?: {
    createPolicy(name: string, rules: { createScriptURL(url: string): string }): unknown;
  };
}
