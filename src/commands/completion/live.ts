// Offers UUIDs with names from the service if it answers quickly.

import { stat } from 'node:fs/promises';
import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { isUuid } from '../../api/links.js';
import { NAMED } from '../../api/named.js';
import { type NamedWord, NOTHING, type Offer, type Offers } from '../../cli/completions.js';
import type { FollowedLine } from '../../cli/line.js';
import { type Context, openContext } from '../../context.js';
import { LARGE_PAGE } from '../../http/first-page.js';
import type { Item, Query } from '../../http/types.js';

/** How long Tab may wait for completions. */
const PATIENCE_MS = 800;
/**
 * The maximum number of offers. A longer menu is not useful, and bash asks for confirmation from a
 * hundred on.
 */
const MOST_SHOWN = 50;

/**
 * Offers UUIDs of bicycles that begin with the typed text, each with name and state; the most
 * recently changed ones without text. Offers nothing without a token that is available immediately:
 * no token command is run, and no question asked.
 * @param values the flags of the typed line
 */
export function findLiveBicycles(
  context: Context,
  values: FollowedLine['values'],
  typed: string,
): Promise<Offers> {
  const start = typed.toLowerCase();
  return withPatience(context, values, async (patient) => {
    const asked =
      values.get('--organization')?.at(-1) ?? (await patient.settings()).organization.value;
    const organization = asked !== undefined && isUuid(asked) ? asked : undefined;
    const words: Offer[] = [];
    for await (const items of searchList(patient, organization, start)) {
      for (const { uuid, name, state } of items.map(({ value }) => value)) {
        // Only UUIDs are safe: other text could have a meaning for the shell.
        if (typeof uuid !== 'string' || !isUuid(uuid) || !uuid.toLowerCase().startsWith(start))
          continue;
        const description = [name, state]
          .filter((text) => typeof text === 'string' && text !== '')
          .join(', ');
        words.push({ value: uuid.toLowerCase(), description });
      }
      if (words.length >= MOST_SHOWN) break;
    }
    return { words: words.slice(0, MOST_SHOWN) };
  });
}

async function* searchList(
  context: Context,
  organization: string | undefined,
  start: string,
): AsyncGenerator<readonly Item<Bicycle>[], void, undefined> {
  const { isBeginning, pagesAround } = await import('../../list/uuid-prefix.js');
  const client = await context.client({ timeoutMs: PATIENCE_MS, retries: 0 });
  const scope: Query = organization === undefined ? [] : [['organization', organization]];
  const list = { path: BICYCLE.listPath, subject: 'the list of bicycles' };
  if (isBeginning(start))
    return yield* pagesAround<Bicycle>(client, { ...list, query: scope }, start);
  if (start !== '') return;
  const query: Query = [...scope, ['ordering', '-modified'], LARGE_PAGE];
  for await (const { items } of client.pages<Bicycle>({ ...list, query })) yield items;
}

/** Offers UUIDs of organizations, zones or models with their names. */
export function findLiveNamed(
  context: Context,
  values: FollowedLine['values'],
  kind: NamedWord,
): Promise<Offers> {
  return withPatience(context, values, async (patient) => {
    const { readNames } = await import('../../list/find-named.js');
    const names = await readNames(
      await patient.client({ timeoutMs: PATIENCE_MS, retries: 0 }),
      NAMED[kind],
    );
    return {
      words: [...(names ?? [])].map(([value, [description = '']]) => ({ value, description })),
    };
  });
}

/** Sends requests with a token that is available immediately and a short time limit. */
async function withPatience(
  { io, clock, signal }: Context,
  values: FollowedLine['values'],
  ask: (context: Context) => Promise<Offers>,
): Promise<Offers> {
  // An address that is still being typed must not get the token.
  if (values.has('--base-url')) return NOTHING;
  const late = new AbortController();
  const cancel = clock.after(PATIENCE_MS, () => late.abort(new Error('the shell waits no longer')));
  const both = AbortSignal.any([signal, late.signal]);
  const profile = values.get('--profile')?.at(-1);
  const flags = { quiet: true, ...(profile === undefined ? {} : { profile }) };
  const { context, close } = openContext({ clock }, io, flags, {
    signal: both,
    urgentSignal: both,
    leaveSignals() {},
  });
  try {
    return (await hasCheapToken(context)) ? await ask(context) : NOTHING;
  } finally {
    cancel();
    await close();
  }
}

/** A pipe is not read, because the next command needs its content. */
async function hasCheapToken({ io, settings }: Context): Promise<boolean> {
  const { loadStored } = await import('../../settings/store.js');
  const { findTokenPlace } = await import('../../settings/token-place.js');
  const place = await findTokenPlace(io.env, await loadStored(io.env), await settings());
  if (place === undefined || place.kind === 'command') return false;
  return place.kind !== 'file' || (await stat(place.text)).isFile();
}
