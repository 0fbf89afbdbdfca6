// Declares `fleet sandbox`: a simulated service on this machine, for trying and testing.

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

Faults: latency delays answers. error refuses a share of the requests, or the next two (2x); cut carries them out and
breaks the connection. drop cuts push connections after a time, stall silences them, late delays their events. noreplay sends nothing that was
missed, resend all of it. norented: only the renter gets messages of a rental. shrink: a list loses a bicycle while it is read.
nocount: no list says how many it has. nodate: no answer says the service's time. links: lists have links.next and meta.pagination; linkheader: bare arrays with a
Link header. latin1: answers in iso-8859-1. trim: texts of creations and edits lose the white space at their ends. lag: lists lag by up to that time. cache: lists come from a cache that old.
throttle: 429 for a second action within a time. expire ends tokens.
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
