// The flags of `fleet auth login`.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { DEFAULT_CLIENT_ID, LOGIN_PATH } from '../../api/login.js';
import type { FlagsOf, NoFlags } from '../../cli/command.js';
import { usageError } from '../../errors.js';

/** Adds the flags of `fleet auth login`. */
export function addLoginFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return command
    .option('--with-token', 'read the token from stdin instead of asking')
    .option('--email <address>', 'log in with this address and a password', readEmail)
    .option('--password-stdin', 'read the password from stdin instead of asking')
    .option('--login-path <path>', `path of the service's login (default: ${LOGIN_PATH})`, readPath)
    .option(
      '--client-id <id>',
      `client ID for the renewal (default: ${DEFAULT_CLIENT_ID})`,
      readClientId,
    )
    .option('--check', 'check with one request before saving (default)')
    .option('--no-check', 'save without a request');
}

export type LoginOptions = FlagsOf<typeof addLoginFlags<[], NoFlags>>;

/**
 * Parses an e-mail address, or another user name of the service, for commander. Refuses
 * `USER:PASSWORD` without repeating it.
 */
function readEmail(text: string): string {
  if (/^[^\s:]+$/.test(text)) return text;
  throw usageError('--email must be an address such as you@example.org');
}

/** Parses a path below the base URL for commander. Returns the path with a slash at both ends. */
function readPath(text: string): string {
  const isPath = /^\/?[\w.~-]+(?:\/[\w.~-]+)*\/?$/.test(text);
  // With `..`, the path could leave the base URL.
  const leadsAway = text.split('/').some((word) => word === '.' || word === '..');
  if (isPath && !leadsAway) return `/${text}/`.replaceAll(/\/+/g, '/');
  throw usageError(
    `--login-path must be a path relative to the address of the service, such as ${LOGIN_PATH}`,
  );
}

/** Parses the value of `--client-id`. */
function readClientId(text: string): string {
  if (/^[\x21-\x7e]{1,200}$/.test(text)) return text;
  throw usageError('--client-id must be 1 to 200 printable characters without white space');
}
