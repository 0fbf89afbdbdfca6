// Declares `fleet completion`, and the hidden command that the shells run for each completion.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import { oneOf } from '../../cli/options.js';
import { CALLBACK, SHELLS, type Shell } from '../../cli/shells.js';
import type { Run } from '../../context.js';
import type { CompleteOptions } from './complete.js';
import { addCompletionFlags, type CompletionOptions } from './flags.js';

export function addCompletion(program: Command, run: Run): void {
  const completion = addVerb(
    program,
    [
      'completion',
      'complete commands, flags and values in the shell',
      `Print the script that completes fleet in your shell: commands, flags, words such as states and
transitions, and bicycles. --install puts it where the shell finds it.`,
    ],
    ['install it', 'fleet completion bash --install'],
    ['remove it', 'fleet completion bash --uninstall --yes'],
    ['only in this shell', 'source <(fleet completion bash)'],
    ['fish', 'fleet completion fish | source'],
    ['PowerShell', 'fleet completion powershell --install'],
  ).argument('<shell>', `one of ${SHELLS.join(', ')}`, oneOf('shell', SHELLS));
  addCompletionFlags(completion).action(
    run(async () => async (context, shell: Shell, options: CompletionOptions) => {
      if (options.install === true || options.uninstall === true) {
        const to = options.install === true ? 'installed' : 'removed';
        return (await import('./install.js')).changeCompletion(context, shell, to, options);
      }
      return context.io.stdout.write((await import('../../cli/shell-scripts.js')).SCRIPTS[shell]);
    }),
  );
  program
    .command(CALLBACK, { hidden: true })
    .argument('[words...]')
    .option('--line <text>')
    .action(
      run(async () => {
        const { complete } = await import('./complete.js');
        return (context, words: string[], options: CompleteOptions) =>
          complete(context, program, words, options);
      }),
    );
}
