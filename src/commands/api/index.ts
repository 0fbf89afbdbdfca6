// Declares `fleet api`: its argument, flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { ALERT } from '../../api/alert.js';
import { BICYCLE } from '../../api/bicycle.js';
import { anyText, plain } from '../../cli/completions.js';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { addApiFlags } from './flags.js';

const DESCRIPTION = `Send any request to the service, with the token and headers of every other command, and print what
comes back. The path is below the base URL; a whole URL must have the same origin as the base URL.

The default is GET, or POST with fields or --input. Fields of a GET become query parameters, all
others the JSON body. -F converts numbers, true, false and null, and @file (@- for stdin) reads a file;
-f is always text.

Output is JSON by default, whatever the settings say; -o table, csv, tsv, uuid, geojson and jsonl show
the items of a list. A body that is not JSON is piped byte for byte. A change is sent at most once.`;

export function addApi(program: Command, run: Run): void {
  const api = addVerb(
    program,
    ['api', 'send any request to the service', DESCRIPTION],
    ['the second page, with status and headers', "fleet api '/bicycles/?page=2' -i"],
    ['every name', "fleet api /bicycles/ --paginate --jq '.[].name'"],
    [
      'run a transition',
      'fleet api /bicycles/d238dc92-4ed5-4cec-a476-fe5f869ff26e/actions/ -f type=rent',
    ],
    ['query parameters', 'fleet api /alerts/ -X GET -f state=new -f state=escalated'],
  ).argument('<path>', 'such as /bicycles/?page=2', anyText(offerPath));
  addApiFlags(api).action(run(async () => (await import('./api.js')).callApi));
}

const offerPath = () => ({ words: plain([BICYCLE.listPath, ALERT.listPath]), isOpen: true });
