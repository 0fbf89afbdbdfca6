// Declares `fleet sandbox`: a simulated service on this machine, for experiments and tests.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { addSandboxFlags } from './flags.js';

export function addSandbox(program: Command, run: Run): void {
  const sandbox = addVerb(
    program,
    [
      'sandbox',
      'run the whole service on this machine',
      `Run the whole service in memory on this machine, on loopback only, until Ctrl-C. Prints its addresses, an
organization and a token, and saves them as the profile "sandbox". "fleet auth login --email" works as
admin@example.org, operator@example.org and renter@example.org with any password but "wrong".

Faults:
- latency=200ms delays every answer
- error=503:5% refuses a part of the requests; error=503:2x the next two
- cut=5% carries requests out, and closes the connection before the answer
- drop=30s closes push connections; stall=30s silences them; late=45s delays their events
- noreplay: missed events are lost; resend: all events are sent again
- norented: only the renter gets the messages of a rental
- shrink: a list loses a bicycle while it is read; nocount: lists have no total
- lag=3s: lists are old; cache=60s: a cache answers lists
- nodate, links, linkheader, latin1, trim: other forms of answers and texts
- throttle=5s: 429 for a second action on a bicycle; expire=60s: tokens expire

"fleet api -X DELETE /bicycles/UUID/" deletes a bicycle, which no message announces.`,
    ],
    ['then, in the next terminal: fleet --profile sandbox bicycles list', 'fleet sandbox'],
    [
      'a busy fleet on a bad network',
      'fleet sandbox --rate 20 --fault latency=200ms --fault error=503:5% --fault drop=30s',
    ],
    [
      'send alerts to a receiver in another terminal',
      'fleet sandbox --webhook http://127.0.0.1:4020/ --webhook-secret try',
    ],
  );
  addSandboxFlags(sandbox).action(run(async () => (await import('./sandbox.js')).runSandbox));
}
