// Finds secrets in a `fleet api` request by the names of headers, query parameters and fields.

import { isObject, parseJson } from '../../json/parse.js';
import { isSecretName } from '../../system/secret-names.js';
import type { Secrets } from '../../system/secrets.js';

/**
 * Adds the secret header values to the secrets of the run, because a response can quote its
 * request.
 */
export function addSecretHeaders(
  headers: Readonly<Record<string, string>>,
  secrets: Secrets,
): void {
  for (const [name, value] of Object.entries(headers)) {
    if (isSecretName(name)) secrets.add(value);
  }
}

/** Whether a query with these parameters or a body contains a secret. */
export function holdsSecret(parameters: readonly string[], body: string | undefined): boolean {
  return parameters.some(isSecretName) || (body !== undefined && bodyHoldsSecret(body));
}

function bodyHoldsSecret(body: string): boolean {
  try {
    return hasSecretKey(parseJson(body));
  } catch {
    return namesIn(body).some(isSecretName);
  }
}

function hasSecretKey(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasSecretKey);
  if (!isObject(value)) return false;
  return Object.entries(value).some(([name, inner]) => isSecretName(name) || hasSecretKey(inner));
}

/** Matches a field name that is followed by its value in a form, XML, YAML or multipart body. */
const NAME = /(?<![\w.%-])[\w.%-]{1,100}(?=["']?\s{0,9}[=:>]|["'](?:;|\r?\n))/g;

function namesIn(body: string): string[] {
  return Array.from(body.matchAll(NAME), ([name]) => decodeName(name));
}

/** Decodes a form field's name. */
function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
