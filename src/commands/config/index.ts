// Declares `fleet config`: the settings of a profile, and where each value comes from.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { anyText, type Complete, NOTHING, ORGANIZATIONS, plain } from '../../cli/completions.js';
import { addVerb } from '../../cli/examples.js';
import { showPairs } from '../../cli/help.js';
import type { Run } from '../../context.js';
import { findKey, KEY_NAMES, KEYS } from '../../settings/keys.js';
import { FORMATS } from '../../terminal/formats.js';

export function addConfig(program: Command, run: Run): void {
  const config = addVerb(
    program,
    [
      'config',
      'show and change settings',
      `Show and change the settings of the profile in use, or of --profile.

A value comes from the first of: flag, environment variable, profile, default. The keys of a profile:
${showPairs(KEY_NAMES.map((name) => [name, KEYS[name].summary]))}`,
    ],
    ['show every setting', 'fleet config list'],
    ['set the address of the service', 'fleet config set base_url https://bikes.example.com/api'],
  );
  addVerb(
    config,
    [
      'list',
      'show every setting and its source',
      'Show every setting and its source. Tokens are never shown.',
    ],
    ['show every setting', 'fleet config list'],
    [
      'only those from the environment',
      `fleet config list --jq '.[] | select(.origin == "environment")'`,
    ],
  ).action(run(async () => (await import('./list.js')).listSettings));
  addVerb(
    config,
    [
      'get',
      'print the value in use',
      'Print the value in use of one setting. Exit code 3 when it is not set.',
    ],
    ['the address', 'fleet config get base_url'],
    ['from another profile', 'fleet config get organization --profile sandbox'],
  )
    .argument('<key>', 'a key of "fleet config list"', anyText(offerKey))
    .action(
      run(async () => {
        const { getSetting } = await import('./values.js');
        return (context, key: string) => getSetting(context, program, key);
      }),
    );
  addChanges(program, config, run);
  addVerb(
    config,
    [
      'path',
      'print the path of the settings file',
      'Print the path of config.json. Tokens are in credentials.json.',
    ],
    ['show the file', 'cat "$(fleet config path)"'],
    ['with another folder', 'FLEET_CONFIG_DIR=/tmp/fleet fleet config path'],
  ).action(run(async () => (await import('./values.js')).printPath));
}

function addChanges(program: Command, config: Command, run: Run): void {
  addVerb(
    config,
    [
      'set',
      'set a value in the profile',
      'Set a value in the profile in use, or in --profile, which may be new.',
    ],
    ['the address', 'fleet config set base_url https://bikes.example.com/api'],
    ['a token from a password manager', `fleet config set token_command 'pass show fleet/token'`],
    ['a longer timeout, in another profile', 'fleet config set timeout 90 --profile slow'],
    ['ask before every change', 'fleet config set protected true'],
    [
      'the default of a flag for one command',
      'fleet config set "defaults.bicycles list.output" wide',
    ],
    ['refuse every change, in a profile for a colleague', 'fleet config set read_only true'],
  )
    .argument('<key>', 'one of the keys of "fleet config --help"', anyText(offerKey))
    .argument('<value>', 'as "fleet config get" prints it', anyText(offerSetting))
    .action(
      run(async () => {
        const { setSetting } = await import('./values.js');
        return (context, key: string, value: string) => setSetting(context, program, key, value);
      }),
    );
  addVerb(
    config,
    [
      'unset',
      'remove a value from the profile',
      'Remove a value from the profile in use, or from --profile.',
    ],
    ['back to the default', 'fleet config unset timeout'],
    ['use the stored token again', 'fleet config unset token_command'],
  )
    .argument('<key>', 'one of the keys of "fleet config --help"', anyText(offerKey))
    .action(
      run(async () => {
        const { unsetSetting } = await import('./values.js');
        return (context, key: string) => unsetSetting(context, program, key);
      }),
    );
  addVerb(
    config,
    [
      'edit',
      'edit the settings in your editor',
      'Open the settings of all profiles in $VISUAL or $EDITOR. They are checked when the editor exits; invalid settings are not saved.',
    ],
    ['in the default editor', 'fleet config edit'],
    ['in another editor', "VISUAL='code --wait' fleet config edit"],
  ).action(run(async () => (await import('./edit.js')).editConfig));
}

const offerKey: Complete = () => ({
  words: KEY_NAMES.map((value) => ({ value, description: KEYS[value].summary })),
});

const offerSetting: Complete = (place) => {
  const name = findKey(place.operands[0] ?? '');
  if (name === 'output') return { words: plain(FORMATS) };
  if (name === 'organization') return ORGANIZATIONS(place);
  return name === 'allow_http' || name === 'protected' || name === 'read_only'
    ? { words: plain(['true', 'false']) }
    : NOTHING;
};
