// Declares `fleet apply`, which carries out a plan.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { addApplyFlags } from './flags.js';

const DESCRIPTION = `Carry out a plan that --plan of act, edit or create wrote. Every target is read again, and a request is
sent only where the service still shows the planned values. The others are listed as changed or gone, and the exit
code is 9. A plan is carried out once: FILE.journal records it, and the same command line resumes. Details: fleet help plans`;

export function addApply(program: Command, run: Run): void {
  const apply = addVerb(
    program,
    ['apply', 'carry out a plan', DESCRIPTION],
    [
      'write a plan first',
      'fleet bicycles list --all --where state=lost -o uuid | fleet bicycles act - put_in_maintenance --plan monday.plan',
    ],
    ['look at it, and at the targets that changed since', 'fleet apply monday.plan --dry-run'],
    ['carry it out', 'fleet apply monday.plan --yes'],
  ).argument('<file>', 'a plan');
  addApplyFlags(apply).action(run(async () => (await import('./apply.js')).applyPlan));
}
