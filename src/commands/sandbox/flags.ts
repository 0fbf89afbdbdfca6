// The flags of `fleet sandbox`.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import type { FlagsOf, NoFlags } from '../../cli/command.js';
import { collectWith, plain } from '../../cli/completions.js';
import { oneOf, portNumber, readSpeed, wholeNumber } from '../../cli/options.js';
import { usageError } from '../../errors.js';
import { type MirrorAddress, parseMirrorAddress } from '../../mirror/address.js';
import type { ServiceKind } from '../../sandbox/index.js';

const SERVICES: readonly ServiceKind[] = ['observed', 'interface'];

/** The kinds of faults, as the user types them. */
const FAULT_WORDS =
  'latency=200ms error=503:5% cut=5% drop=30s stall=30s late=45s noreplay resend norented shrink nocount nodate links linkheader latin1 trim lag=3s cache=60s throttle=5s expire=60s';
const FAULTS = FAULT_WORDS.split(' ');

/** Adds the flags of `fleet sandbox`. */
export function addSandboxFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return command
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
    );
}

export type SandboxFlags = FlagsOf<typeof addSandboxFlags<[], NoFlags>>;

function readReplay(text: string): MirrorAddress {
  const parsed = parseMirrorAddress(text, process.cwd());
  if ('reason' in parsed) throw usageError(`--replay: ${parsed.reason}`, parsed.hint);
  return parsed.value;
}

function readRate(text: string): number {
  const rate = Number(text);
  if (/^\d+(\.\d+)?$/.test(text)) return rate;
  throw usageError(`--rate must be a number of events per second, such as 2 or 0.5, not "${text}"`);
}
