// What `fleet config` declares: the settings of a profile, and where each value comes from.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { examples } from '../../cli/examples.js';
import { anyText, type Complete, NOTHING, ORGANIZATIONS, plain } from '../../cli/offers.js';
import type { Run } from '../../context.js';
import { findKey, KEY_NAMES, KEYS } from '../../settings/keys.js';
import { FORMATS } from '../../terminal/formats.js';

const KEY_LINES = KEY_NAMES.map((name) => `  ${name.padEnd(15)}${KEYS[name].summary}`).join('\n');

export function addConfig(program: Command, run: Run): void {
  const config = program
    .command('config')
    .summary('show and change settings')
    .description(
      [
        'Show and change the settings of the profile in use, or of --profile.',
        '',
        'A value comes from the first of: flag, environment variable, profile, default. The keys of a profile:',
        KEY_LINES,
      ].join('\n'),
    );
  examples(
    config,
    ['everything, and where it comes from', 'fleet config list'],
    ['the address of the service', 'fleet config set base_url https://bikes.example.com/api'],
  );
  examples(
    config
      .command('list')
      .summary('show every setting and where it comes from')
      .description('Show every setting with its value and where that comes from. Tokens are never shown.')
      .action((_options: object, command: Command) =>
        run(command, async (context) => (await import('./list.js')).listSettings(context)),
      ),
    ['look', 'fleet config list'],
    ['what comes from the environment', `fleet config list --jq '.[] | select(.origin == "environment")'`],
  );
  examples(
    config
      .command('get')
      .argument('<key>', 'a key of "fleet config list"', anyText(offerKey))
      .summary('print the value in use')
      .description('Print the value in use of one setting, alone. Exit code 3 when it is not set anywhere.')
      .action((key: string, _options: object, command: Command) =>
        run(command, async (context) => (await import('./get.js')).getSetting(context, key)),
      ),
    ['the address', 'fleet config get base_url'],
    ['of another profile', 'fleet config get organization --profile sandbox'],
  );
  examples(
    config
      .command('set')
      .argument('<key>', 'one of the keys of "fleet config --help"', anyText(offerKey))
      .argument('<value>', 'as "fleet config get" prints it', anyText(offerSetting))
      .summary('set a value in the profile')
      .description('Set a value in the profile in use, or in --profile, which is made when it is not there.')
      .action((key: string, value: string, _options: object, command: Command) =>
        run(command, async (context) => (await import('./set.js')).setSetting(context, key, value)),
      ),
    ['the address', 'fleet config set base_url https://bikes.example.com/api'],
    ['a token from a password manager', `fleet config set token_command 'pass show fleet/token'`],
    ['more patience, in a profile of its own', 'fleet config set timeout 90 --profile slow'],
    ['ask before every change', 'fleet config set protected true'],
  );
  examples(
    config
      .command('unset')
      .argument('<key>', 'one of the keys of "fleet config --help"', anyText(offerKey))
      .summary('remove a value from the profile')
      .description('Remove a value from the profile in use, or from --profile.')
      .action((key: string, _options: object, command: Command) =>
        run(command, async (context) => (await import('./unset.js')).unsetSetting(context, key)),
      ),
    ['back to the default', 'fleet config unset timeout'],
    ['use the stored token again', 'fleet config unset token_command'],
  );
  examples(
    config
      .command('edit')
      .summary('edit the settings in your editor')
      .description(
        'Open the settings of all profiles in $VISUAL or $EDITOR. They are checked when the editor ends; what is refused leaves the old ones in place.',
      )
      .action((_options: object, command: Command) =>
        run(command, async (context) => (await import('./edit.js')).editConfig(context)),
      ),
    ['in the editor of the environment', 'fleet config edit'],
    ['in another one', "VISUAL='code --wait' fleet config edit"],
  );
  examples(
    config
      .command('path')
      .summary('print the path of the settings file')
      .description(
        'Print the path of the settings file; it need not exist yet. Tokens are in credentials.json beside it.',
      )
      .action((_options: object, command: Command) =>
        run(command, async (context) => (await import('./path.js')).printPath(context)),
      ),
    ['look at it', 'cat "$(fleet config path)"'],
    ['where it would be elsewhere', 'FLEET_CONFIG_DIR=/tmp/fleet fleet config path'],
  );
}

const offerKey: Complete = () => ({ words: KEY_NAMES.map((value) => ({ value, description: KEYS[value].summary })) });

const offerSetting: Complete = (place) => {
  const name = findKey(place.operands[0] ?? '');
  if (name === 'output') return { words: plain(FORMATS) };
  if (name === 'organization') return ORGANIZATIONS(place);
  return name === 'allow_http' || name === 'protected' ? { words: plain(['true', 'false']) } : NOTHING;
};
