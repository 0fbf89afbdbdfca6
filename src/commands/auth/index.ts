// Declares `fleet auth`: login, logout and the current token.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { addLoginFlags } from './flags.js';

export function addAuth(program: Command, run: Run): void {
  const auth = addVerb(
    program,
    [
      'auth',
      'log in and out, show the token in use',
      `Log in and out, and show which access token is in use.

The token comes from the first of: FLEET_TOKEN, FLEET_TOKEN_FILE (a path), FLEET_TOKEN_COMMAND, the
token_command of the profile, the token stored by "fleet auth login".`,
    ],
    ['store a token', 'fleet auth login'],
    ['show who you are, and until when', 'fleet auth status'],
  );
  addLogin(auth, run);
  addVerb(
    auth,
    [
      'logout',
      'remove the stored token',
      'Remove the stored token of the profile in use, or of --profile. Its other settings stay.',
    ],
    ['the profile in use', 'fleet auth logout'],
    ['another profile', 'fleet auth logout --profile sandbox'],
  ).action(run(async () => (await import('./status.js')).logout));
  addVerb(
    auth,
    [
      'status',
      'show profile, token source, expiry and claims',
      `Show the profile, the address, and the source, expiry and claims of the token. The claims are read, not
verified. The token itself is not shown, and nothing is sent.

Exit code 0 with a token, 3 without, 4 when it has expired.`,
    ],
    ['show the status', 'fleet auth status'],
    ['print the seconds left, for a script', 'fleet auth status --jq .expires_in_seconds'],
  ).action(run(async () => (await import('./status.js')).showStatus));
  addVerb(
    auth,
    ['token', 'print the access token', 'Print the access token in use, for another program.'],
    [
      'with curl',
      'curl -H "Authorization: JWT $(fleet auth token)" "$(fleet config get base_url)/bicycles/"',
    ],
    ['from another profile', 'fleet auth token --profile sandbox'],
  ).action(run(async () => (await import('./status.js')).printToken));
}

function addLogin(auth: Command, run: Run): void {
  const login = addVerb(
    auth,
    [
      'login',
      'log in with a token or a password',
      `Store an access token for the profile in use, or for --profile, which is created if needed.
Asks for the address if the profile has none, then for the token, and offers its organizations.
With --email it asks for a password instead, which is not stored. Every command renews that token before it
expires, if the service gives a refresh token to this user or renews a token by itself.

The address of another service goes into a new profile, named after the host or with --profile NAME, and that
profile is used from then on. The profile "sandbox" belongs to "fleet sandbox".

Address and token are checked with one request before they are saved. A service that cannot be reached is a
warning, one that refuses the token an error.`,
    ],
    ['log in', 'fleet auth login'],
    [
      'with a password, from a password manager',
      'pass show fleet-password | fleet auth login --email you@example.org --password-stdin',
    ],
    [
      'with a token from a password manager, as a new profile',
      'pass show fleet | fleet auth login --with-token --profile berlin',
    ],
    [
      'copy the profile in use',
      'fleet auth token | fleet auth login --with-token --profile copy --base-url "$(fleet config get base_url)"',
    ],
  );
  addLoginFlags(login).action(run(async () => (await import('./login.js')).login));
}
