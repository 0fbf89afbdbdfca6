// Declares `fleet profile`, which manages named sets of settings. There is usually one profile for
// each service or role.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { anyText, PROFILES } from '../../cli/completions.js';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';

export function addProfile(program: Command, run: Run): void {
  const profile = addVerb(
    program,
    [
      'profile',
      'list, choose and delete settings profiles',
      `List, choose and delete profiles: named sets of settings, each with its token.

The profile in use is the first of: --profile, FLEET_PROFILE, the one chosen with "fleet profile use", "default".
Create one with "fleet auth login --profile NAME" or "fleet config set … --profile NAME".

With a protected profile every change asks first, or needs --yes: fleet config set protected true.
A read-only profile refuses every change: fleet config set read_only true.`,
    ],
    ['list profiles', 'fleet profile list'],
    ['one command with another profile', 'fleet bicycles list --profile sandbox'],
    ['protect a profile from mistakes', 'fleet config set protected true --profile sandbox'],
  );
  addVerb(
    profile,
    [
      'list',
      'list profiles',
      'List all profiles. ACTIVE: the one in use. TOKEN: whether one is stored or a command prints it. PROTECTED: whether every change asks first.',
    ],
    ['list profiles', 'fleet profile list'],
    ['print only the names', `fleet profile list --jq '.[].name'`],
  ).action(run(async () => (await import('./list.js')).listProfiles));
  addVerb(
    profile,
    ['use', 'switch to a profile', 'Switch to a profile, which every command uses from then on.'],
    ['the sandbox', 'fleet profile use sandbox'],
    ['back again', 'fleet profile use default'],
  )
    .argument('<name>', 'a profile of "fleet profile list"', anyText(PROFILES))
    .action(run(async () => (await import('./change.js')).chooseActive));
  addVerb(
    profile,
    [
      'delete',
      'delete a profile and its token',
      'Delete a profile and its stored token. Asks first; without a terminal --yes is needed.',
    ],
    ['asks first', 'fleet profile delete berlin'],
    ['in a script', 'fleet profile delete berlin --yes'],
  )
    .argument('<name>', 'a profile of "fleet profile list"', anyText(PROFILES))
    .option('-y, --yes', 'do not ask')
    .action(run(async () => (await import('./change.js')).removeProfile));
}
