// The flags that deliver messages: --exec, --post, --template and --attempts.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import type { FlagsOf, NoFlags } from '../cli/command.js';
import { oneOf, wholeNumber } from '../cli/options.js';
import { usageError } from '../errors.js';
import { TEMPLATES } from './post-templates.js';

const USUAL_ATTEMPTS = 20;
const MOST_ATTEMPTS = 1_000_000;

/** Adds the delivery flags to a command. `noun` names the messages in the help, such as `alert`. */
export function addDeliveryFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
  noun: string,
) {
  return command
    .option('--exec <command>', `run this for each ${noun}, with the ${noun} as JSON on stdin`)
    .option('--post <url>', `post each ${noun} to this address, as JSON`, readPostUrl)
    .option(
      '--template <name>',
      'the format of --post: slack, teams, ntfy or alertmanager',
      oneOf('template', TEMPLATES),
    )
    .option(
      '--attempts <n>',
      `set an undelivered ${noun} aside after this many attempts`,
      wholeNumber('--attempts', 1, MOST_ATTEMPTS),
      USUAL_ATTEMPTS,
    );
}

/** The parsed flags. `exec` contains a shell command. */
export type DeliveryFlags = FlagsOf<typeof addDeliveryFlags<[], NoFlags>>;

/** Parses the `--post` URL. */
export function readPostUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    // The error does not quote the URL, because a webhook's path is often secret.
    throw usageError(
      '--post needs an http or https address',
      'for example: --post https://hooks.example.com/services/T0/B0',
    );
  if (url.username !== '' || url.password !== '')
    throw usageError('--post needs an address without a user name or password');
  url.hash = '';
  return url;
}

/** Throws a usage error when delivery flags contradict each other or have no receiver. */
export function checkDeliveryFlags({ exec, post, template }: DeliveryFlags): void {
  if (template !== undefined && post === undefined)
    throw usageError('--template works only with --post', 'add --post URL');
  if (template === 'ntfy' && post !== undefined && /^\/*$/.test(post.pathname))
    throw usageError(
      'the --post URL has no topic',
      `add the ntfy topic: --post ${post.origin}/TOPIC`,
    );
  if (template === 'ntfy' && post !== undefined && !isDecodable(post.pathname))
    throw usageError('the topic in the --post URL is not valid', 'write % as %25');
  if (exec?.trim() === '') throw usageError('--exec needs a command');
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
