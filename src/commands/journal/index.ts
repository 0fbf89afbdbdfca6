// Declares `fleet journal`: what the journal of a bulk run says.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { examples } from '../../cli/examples.js';
import type { Run } from '../../context.js';

export function addJournal(program: Command, run: Run): void {
  const journal = program
    .command('journal')
    .summary('show what the journal of a bulk run says')
    .description('Read the journals that --journal of act, create and edit writes.');
  const show = journal
    .command('show')
    .summary('show what became of each bicycle')
    .description(
      `Show what a journal says of each bicycle: what became of it, when, in which run, and how that is known:
answered (the service said so), history (its list of transitions shows it), list (the new bicycle is there),
state (it was in another state before), operator (--unknown done). Nothing is sent, and the journal is only read.
Exit code 9 when records are missing or were changed. A lost end looks like a crash, and cannot be told from one.`,
    )
    .argument('<file>', 'a journal')
    .action(run(async () => (await import('./show.js')).showJournal));
  for (const command of [journal, show])
    examples(
      command,
      ['what became of each', 'fleet journal show j.jsonl'],
      [
        'those with an unknown outcome',
        `fleet journal show j.jsonl --jq '.[] | select(.outcome == "unknown") | .uuid'`,
      ],
    );
}
