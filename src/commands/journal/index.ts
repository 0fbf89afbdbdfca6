// Declares `fleet journal`, which shows the journal of a bulk run.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addRunFlags, readPlanPath } from '../../bulk/flags.js';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';

const SHOW = `Report a bulk run by its journal: the outcome of each bicycle, its time and run, and the evidence:
answered (the service said so), history (its list of transitions shows it), list (the new bicycle is there),
state (it was in another state before), operator (--unknown done). Nothing is sent, and the journal is only read.
--file run.xlsx and --file run.html write a report: who ran what, where and when, whether the run was killed and
resumed, counts, and a row for each bicycle with before and after. -o wide adds the columns RUN and REQUEST.
Exit code 9 when records are missing or were changed. A file that was cut short looks like a crash, unless the counter
file beside the journal (FILE.count) shows that there were more.`;

const UNDO = `Undo the run of a journal. A bicycle returns to its state before the run when one transition leads there
and nobody changed the bicycle since. A field of an edit returns to its old value when it still has the value that the
run wrote. What cannot be undone is listed with its reason first, and the exit code is then 9: retire, creations, and
changes of others since. FILE.undo is the journal of the undo, which can be undone too. Transitions back: fleet help plans`;

export function addJournal(program: Command, run: Run): void {
  const lines = [
    ['the outcome of each bicycle', 'fleet journal show j.jsonl'],
    ['a report for people without fleet', 'fleet journal show j.jsonl --file run.html'],
    [
      'those with an unknown outcome',
      `fleet journal show j.jsonl --jq '.[] | select(.outcome == "unknown") | .uuid'`,
    ],
  ] as const;
  const description = 'Read the journals that --journal of act, create and edit writes.';
  const journal = addVerb(
    program,
    ['journal', 'show or undo the journal of a bulk run', description],
    ...lines,
  );
  addVerb(journal, ['show', 'show the outcome of each bicycle', SHOW], ...lines)
    .argument('<file>', 'a journal')
    .action(run(async () => (await import('./show.js')).showJournal));
  const undo = addVerb(
    journal,
    ['undo', 'bring bicycles back to the state before a run', UNDO],
    ['what would be sent', 'fleet journal undo j.jsonl --dry-run'],
    ['write a plan of it', 'fleet journal undo j.jsonl --plan back.plan'],
    ['carry it out', 'fleet journal undo j.jsonl --yes'],
  )
    .argument('<file>', 'a journal')
    .option('-y, --yes', 'do not ask before the requests are sent')
    .option('--dry-run', 'print the requests; send nothing')
    .option('--plan <file>', 'write a plan for "fleet apply"; send nothing', readPlanPath);
  addRunFlags(undo).action(run(async () => (await import('./undo.js')).undoJournal));
}
