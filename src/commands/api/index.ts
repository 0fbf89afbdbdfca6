// The declaration of `fleet api`: its argument, flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { ALERTS_PATH } from '../../api/alert.js';
import { BICYCLES_PATH } from '../../api/bicycle.js';
import { examples } from '../../cli/examples.js';
import { anyText, plain, withOffers } from '../../cli/offers.js';
import { collect, oneOf } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { METHODS } from '../../http/methods.js';

const DESCRIPTION = `Send any request to the service, with the token and headers of every other command, and print what
comes back. The path is below the base URL; a whole URL is taken at the base URL's own origin alone.

Without -X it is a GET, or a POST when there are fields or --input. Fields of a GET become query
parameters, all others the JSON body: -F takes numbers, true, false and null as such and @file (@- is
stdin) as the text of a file; -f takes everything as text. extra[key]=v makes an object, list[]=v a list.

JSON is the default whatever the settings say; -o table, csv, tsv, uuid, geojson and jsonl show the
items of a list. What is not JSON goes into a pipe byte for byte. A change is sent at most once.`;

export function addApi(program: Command, run: Run): void {
  const api = program
    .command('api')
    .summary('send any request to the service')
    .description(DESCRIPTION)
    .argument('<path>', 'such as /bicycles/?page=2', anyText(offerPath))
    .option('-X, --method <method>', `${METHODS.join(', ')} (default: GET, or POST with fields)`, readMethod())
    .option('-F, --field <name=value>', 'a field: numbers, true, false, null, @file, else text (repeatable)', collect)
    .option('-f, --raw-field <name=value>', 'a field that is text whatever it looks like (repeatable)', collect)
    .option('--input <file>', 'send this file as the body; - is stdin')
    .option('-H, --header <name: value>', 'a further header (repeatable)', collect)
    .option('--paginate', 'follow the pages to the last: one array of all items')
    .option('-i, --include', 'status and headers of the answer before its body, secrets redacted')
    .option('-y, --yes', 'do not ask before a change with a protected profile')
    .action((path, options, command) =>
      run(command, async (context) => (await import('./api.js')).callApi(context, path, options)),
    );
  examples(
    api,
    ['the second page, with status and headers', "fleet api '/bicycles/?page=2' -i"],
    ['the names of a whole list', "fleet api /bicycles/ --paginate --jq '.[].name'"],
    ['run a transition', 'fleet api /bicycles/d238dc92-4ed5-4cec-a476-fe5f869ff26e/actions/ -f type=rent'],
    ['query parameters', 'fleet api /alerts/ -X GET -f state=new -f state=escalated'],
  );
}

/** A method in any case. */
function readMethod(): (text: string) => string {
  return withOffers(
    (text) => oneOf('method', METHODS)(text.toUpperCase()),
    () => ({ words: plain(METHODS) }),
  );
}

const offerPath = () => ({ words: plain([BICYCLES_PATH, ALERTS_PATH]), isOpen: true });
