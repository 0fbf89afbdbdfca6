// Declares `fleet sandbox`: a simulated service on this machine, for trying and testing.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { collectWith, plain } from '../../cli/completions.js';
import { addVerb } from '../../cli/examples.js';
import { oneOf, portNumber, readSpeed, wholeNumber } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { usageError } from '../../errors.js';
import { type MirrorAddress, parseMirrorAddress } from '../../mirror/address.js';
import type { ServiceKind } from '../../sandbox/index.js';

const SERVICES: readonly ServiceKind[] = ['observed', 'interface'];

/** The kinds of faults, as typed. */
const FAULT_WORDS =
  'latency=200ms error=503:5% cut=5% drop=30s stall=30s late=45s noreplay resend norented shrink nocount nodate links linkheader latin1 trim lag=3s cache=60s throttle=5s expire=60s';
const FAULTS = FAULT_WORDS.split(' ');

export function addSandbox(program: Command, run: Run): void {
  addVerb(
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
  )
    .option('--port <n>', 'port of the API, 0 for any free one', portNumber('--port'), 4010)
    .option(
      '--sse-port <n>',
      'port of the push channel, 0 for any free one',
      portNumber('--sse-port'),
      4011,
    )
    .option('--bicycles <n>', 'how many bicycles', wholeNumber('--bicycles', 0), 500)
    .option('--seed <n>', 'the same seed gives the same fleet', wholeNumber('--seed', 0), 1)
    .option('--rate <events_per_second>', 'automatic events per second; 0 for none', readRate, 2)
    .option('--page-size <n>', 'items per page', wholeNumber('--page-size', 1), 20)
    .option(
      '--fault <fault>',
      `simulate a fault (repeatable): ${FAULTS.join(', ')}`,
      collectWith(() => ({ words: plain(FAULTS) })),
    )
    .option(
      '--service <kind>',
      'behaviour: observed (as seen at a running service) or interface (only the interface document)',
      oneOf('service', SERVICES),
      'observed' as ServiceKind,
    )
    .option(
      '--replay <database>',
      'serve the recorded history of a mirror: sqlite:PATH or postgres://…',
      readReplay,
    )
    .option(
      '--since <time>',
      'start the replay at this time, such as 2h, or yesterday (default: at the beginning)',
    )
    .option(
      '--speed <factor>',
      'speed factor of the replay; max: without pauses (default: 1)',
      readSpeed,
    )
    .option('--webhook <url>', 'send each new or changed alert to this address on this machine')
    .option(
      '--webhook-secret <secret>',
      'sign the webhooks: X-Fleet-Signature, HMAC-SHA256 of the body',
    )
    .action(run(async () => (await import('./sandbox.js')).runSandbox));
}

function readReplay(text: string): MirrorAddress {
  const parsed = parseMirrorAddress(text, process.cwd());
  if ('reason' in parsed) throw usageError(`--replay: ${parsed.reason}`, parsed.hint);
  return parsed.value;
}

function readRate(text: string): number {
  const rate = Number(text);
  if (/^\d+(\.\d+)?$/.test(text)) return rate;
  throw usageError(`--rate must be a number of events a second, such as 2 or 0.5, not "${text}"`);
}
