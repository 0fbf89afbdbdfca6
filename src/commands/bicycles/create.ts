// `fleet bicycles create`: one bicycle from flags.

import { BICYCLES_PATH, type Bicycle, type NewBicycle } from '../../api/bicycle.js';
import { resourceLink } from '../../api/links.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { readJson, squeeze } from '../../http/json.js';
import { BICYCLES } from '../../views/bicycle.js';
import { openResult } from '../result.js';

export interface CreateOptions {
  name: string;
  organization?: string;
  model?: string;
  lock?: string;
  serialNumber?: string;
  description?: string;
}

/** Creates a bicycle (interface.md section 4.2). Assumed: the answer, which the interface does not show, is the bicycle. */
export async function createBicycle(context: Context, options: CreateOptions): Promise<void> {
  const organization = options.organization ?? (await context.settings()).organization.value;
  if (organization === undefined) {
    throw usageError(
      '--organization is missing',
      'give its UUID or URL, or set it once with "fleet config set organization UUID"',
    );
  }
  if (options.name.trim() === '') throw usageError('--name is empty', 'every bicycle needs a visible name');
  const client = await context.client();
  const link = (flag: string, collection: Parameters<typeof resourceLink>[1], value: string) => {
    if (!URL.canParse(resourceLink(client.baseUrl, collection, value))) {
      throw usageError(`${flag} takes a URL or a UUID, not "${value}"`);
    }
    return resourceLink(client.baseUrl, collection, value);
  };
  const body: NewBicycle = {
    name: options.name,
    organization: link('--organization', 'organizations', organization),
    ...(options.model === undefined ? {} : { model: link('--model', 'bicycle_models', options.model) }),
    ...(options.lock === undefined ? {} : { lock: link('--lock', 'locks', options.lock) }),
    ...(options.serialNumber === undefined ? {} : { serial_number: options.serialNumber }),
    ...(options.description === undefined ? {} : { description: options.description }),
  };
  const answer = await client.send({
    method: 'POST',
    path: BICYCLES_PATH,
    body: JSON.stringify(body),
    subject: `the new bicycle "${options.name}"`,
  });

  const result = await openResult<Bicycle>(context, { ...BICYCLES, single: true });
  if (answer.text.trim() === '') await context.notice('the bicycle was created; the service sent no description of it');
  else await result.write([{ json: squeeze(answer.text.trim()), value: readJson(answer) as Bicycle }]);
  await result.end();
}
