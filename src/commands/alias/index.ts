// Declares `fleet alias`: short names for command lines.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';

export function addAlias(program: Command, run: Run): void {
  const alias = addVerb(
    program,
    [
      'alias',
      'name command lines that you use often',
      `Name command lines that you use often. "fleet NAME" then runs the line.

In the line, $1 to $9 stand for arguments and $@ for all of them. Further arguments follow the line.
A command of fleet has priority over an alias with the same name.`,
    ],
    [
      'bicycles with a low battery',
      "fleet alias set low 'bicycles list --where state_of_charge<20'",
    ],
    ['show all aliases', 'fleet alias list'],
  );
  addVerb(
    alias,
    [
      'set',
      'add or replace an alias',
      'Add or replace an alias. The line begins with a command of fleet.',
    ],
    ['low batteries', "fleet alias set low 'bicycles list --where state_of_charge<20'"],
    ['with an argument', "fleet alias set in 'bicycles list --zone $1 --all'"],
  )
    .argument('<name>', 'the name: letters, digits and dashes')
    .argument('<line>', 'the command line without "fleet", in quotes')
    .action(
      run(async () => {
        const { setAlias } = await import('./aliases.js');
        return (context, name: string, line: string) => setAlias(context, program, name, line);
      }),
    );
  addVerb(
    alias,
    ['list', 'list aliases', 'List all aliases with their lines.'],
    ['list aliases', 'fleet alias list'],
    ['as a file for "alias import"', 'fleet alias list -o yaml'],
  ).action(run(async () => (await import('./aliases.js')).listAliases));
  addVerb(
    alias,
    ['delete', 'delete an alias', 'Delete an alias.'],
    ['delete an alias', 'fleet alias delete low'],
    ['and add it again', "fleet alias set low 'bicycles list --where state_of_charge<15'"],
  )
    .argument('<name>', 'an alias of "fleet alias list"')
    .action(run(async () => (await import('./aliases.js')).deleteAlias));
  addVerb(
    alias,
    [
      'import',
      'add aliases from a file',
      `Add aliases from a YAML or JSON file. Each entry is "name: line", or a row of "fleet alias list -o yaml".
Nothing is added when an entry is invalid.`,
    ],
    ['from a file', 'fleet alias import aliases.yaml'],
    ['from stdin', "echo 'low: bicycles list --where state_of_charge<20' | fleet alias import -"],
  )
    .argument('<file>', 'the file, or - for stdin')
    .action(
      run(async () => {
        const { importAliases } = await import('./aliases.js');
        return (context, path: string) => importAliases(context, program, path);
      }),
    );
}
