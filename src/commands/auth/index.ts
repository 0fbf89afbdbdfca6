// What `fleet auth` declares: who the operator is to the service.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { examples } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import type { LoginOptions } from './login.js';

export function addAuth(program: Command, run: Run): void {
  const auth = program
    .command('auth')
    .summary('log in and out, show the token in use')
    .description(
      [
        'Log in and out, and show which access token is in use.',
        '',
        'The token comes from the first of: FLEET_TOKEN, FLEET_TOKEN_FILE (a path), FLEET_TOKEN_COMMAND, the',
        'token_command of the profile, the token stored by "fleet auth login".',
      ].join('\n'),
    );
  examples(auth, ['store a token', 'fleet auth login'], ['who am I, and until when', 'fleet auth status']);
  examples(
    auth
      .command('login')
      .summary('store an access token for the profile')
      .description(
        [
          'Store an access token for the profile in use, or for --profile, which is made when it is not there.',
          'Asks for the token without showing it; where the profile has no address yet, for the addresses first.',
          'Addresses given as --base-url and --sse-url are saved with it.',
          '',
          'An address of another service than the profile in use holds goes into a profile of its own, named after the',
          'host, which is used from then on; --profile NAME names it. The profile "sandbox" belongs to "fleet sandbox".',
          '',
          'Address and token are checked with one request for a page of bicycles before they are saved. A service that',
          'cannot be reached is a warning; one that refuses is a question, or off a terminal an error. Where another prefix',
          '(/api) answers instead, it is offered.',
        ].join('\n'),
      )
      .option('--with-token', 'read the token from stdin instead of asking')
      .option('--check', 'check with one request before saving (default)')
      .option('--no-check', 'save without a request')
      .action((options: LoginOptions, command: Command) =>
        run(command, async (context) => (await import('./login.js')).login(context, options)),
      ),
    ['answer the questions', 'fleet auth login'],
    [
      'from a password manager, for a profile of its own',
      'pass show fleet | fleet auth login --with-token --profile berlin',
    ],
    [
      'the token of another program, with an address of its own',
      'fleet auth token | fleet auth login --with-token --profile copy --base-url "$(fleet config get base_url)"',
    ],
  );
  examples(
    auth
      .command('logout')
      .summary('remove the stored token')
      .description('Remove the stored token of the profile in use, or of --profile. Its other settings stay.')
      .action((_options: object, command: Command) =>
        run(command, async (context) => (await import('./logout.js')).logout(context)),
      ),
    ['the profile in use', 'fleet auth logout'],
    ['another profile', 'fleet auth logout --profile sandbox'],
  );
  examples(
    auth
      .command('status')
      .summary('show profile, token source, expiry and claims')
      .description(
        [
          'Show the profile, the address, where the token comes from, when it ends and what it claims. The claims are',
          'read and not verified, and the token itself is not shown. Nothing is sent.',
          '',
          'Exit code 0 with a token, 3 without, 4 when it has expired.',
        ].join('\n'),
      )
      .action((_options: object, command: Command) =>
        run(command, async (context) => (await import('./status.js')).showStatus(context)),
      ),
    ['look', 'fleet auth status'],
    ['seconds that are left, for a script', 'fleet auth status --jq .expires_in_seconds'],
  );
  examples(
    auth
      .command('token')
      .summary('print the access token')
      .description('Print the access token in use, for another program. Mind who sees the screen.')
      .action((_options: object, command: Command) =>
        run(command, async (context) => (await import('./token.js')).printToken(context)),
      ),
    ['for curl', 'curl -H "Authorization: JWT $(fleet auth token)" "$(fleet config get base_url)/bicycles/"'],
    ['of another profile', 'fleet auth token --profile sandbox'],
  );
}
