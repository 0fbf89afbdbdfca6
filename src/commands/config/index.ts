// Declares `fleet config`: the settings of a profile, and where each value comes from.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { anyText, type Complete, NOTHING, ORGANIZATIONS, plain } from '../../cli/completions.js';
import { examples } from '../../cli/examples.js';
import { showPairs } from '../../cli/help.js';
import type { Run } from '../../context.js';
import { findKey, KEY_NAMES, KEYS } from '../../settings/keys.js';
import { FORMATS } from '../../terminal/formats.js';

export function addConfig(program: Command, run: Run): void {
  const config = program
    .command('config')
    .summary('show and change settings')
    .description(
      `Show and change the settings of the profile in use, or of --profile.

A value comes from the first of: flag, environment variable, profile, default. The keys of a profile:
${showPairs([...KEY_NAMES.filter((name) => !name.startsWith('gbfs.')).map((name) => [name, KEYS[name].summary] as const), ['gbfs.name …', 'the system of "fleet gbfs", see "fleet help gbfs"']])}`,
    );
  examples(
    config,
    ['show every setting', 'fleet config list'],
    ['set the address of the service', 'fleet config set base_url https://bikes.example.com/api'],
  );
  examples(
    config
      .command('list')
      .summary('show every setting and its source')
      .description('Show every setting, its value and its source. Tokens are never shown.')
      .action(run(async () => (await import('./list.js')).listSettings)),
    ['show every setting', 'fleet config list'],
    ['only those from the environment', `fleet config list --jq '.[] | select(.origin == "environment")'`],
  );
  examples(
    config
      .command('get')
      .argument('<key>', 'a key of "fleet config list"', anyText(offerKey))
      .summary('print the value in use')
      .description('Print the value in use of one setting. Exit code 3 when it is not set.')
      .action(run(async () => (await import('./values.js')).getSetting)),
    ['the address', 'fleet config get base_url'],
    ['from another profile', 'fleet config get organization --profile sandbox'],
  );
  addChanges(config, run);
  examples(
    config
      .command('path')
      .summary('print the path of the settings file')
      .description(
        'Print the path of the settings file, which may not exist yet. Tokens are in credentials.json next to it.',
      )
      .action(run(async () => (await import('./values.js')).printPath)),
    ['show the file', 'cat "$(fleet config path)"'],
    ['with another folder', 'FLEET_CONFIG_DIR=/tmp/fleet fleet config path'],
  );
}

function addChanges(config: Command, run: Run): void {
  examples(
    config
      .command('set')
      .argument('<key>', 'one of the keys of "fleet config --help"', anyText(offerKey))
      .argument('<value>', 'as "fleet config get" prints it', anyText(offerSetting))
      .summary('set a value in the profile')
      .description('Set a value in the profile in use, or in --profile, which is created if needed.')
      .action(run(async () => (await import('./values.js')).setSetting)),
    ['the address', 'fleet config set base_url https://bikes.example.com/api'],
    ['a token from a password manager', `fleet config set token_command 'pass show fleet/token'`],
    ['a longer timeout, in another profile', 'fleet config set timeout 90 --profile slow'],
    ['ask before every change', 'fleet config set protected true'],
  );
  examples(
    config
      .command('unset')
      .argument('<key>', 'one of the keys of "fleet config --help"', anyText(offerKey))
      .summary('remove a value from the profile')
      .description('Remove a value from the profile in use, or from --profile.')
      .action(run(async () => (await import('./values.js')).unsetSetting)),
    ['back to the default', 'fleet config unset timeout'],
    ['use the stored token again', 'fleet config unset token_command'],
  );
  examples(
    config
      .command('edit')
      .summary('edit the settings in your editor')
      .description(
        'Open the settings of all profiles in $VISUAL or $EDITOR. They are checked when the editor exits; invalid settings are not saved.',
      )
      .action(run(async () => (await import('./edit.js')).editConfig)),
    ['in the default editor', 'fleet config edit'],
    ['in another editor', "VISUAL='code --wait' fleet config edit"],
  );
}

const offerKey: Complete = () => ({ words: KEY_NAMES.map((value) => ({ value, description: KEYS[value].summary })) });

const offerSetting: Complete = (place) => {
  const name = findKey(place.operands[0] ?? '');
  if (name === 'output') return { words: plain(FORMATS) };
  if (name === 'organization') return ORGANIZATIONS(place);
  return name === 'allow_http' || name === 'protected' ? { words: plain(['true', 'false']) } : NOTHING;
};
