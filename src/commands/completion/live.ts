// What the service can offer the shell if it answers at once: UUIDs with their names.

import { stat } from 'node:fs/promises';
import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { isUuid } from '../../api/links.js';
import { NAMED } from '../../api/named.js';
import { type NamedWord, NOTHING, type Offer, type Offers } from '../../cli/completions.js';
import type { FollowedLine } from '../../cli/line.js';
import { type Context, openContext } from '../../context.js';
import { LARGE_PAGE } from '../../http/first-page.js';
import type { Item, Query } from '../../http/types.js';

/** One who presses a key waits no longer than this for the service. */
const PATIENCE_MS = 800;
/** More is no menu, and at a hundred bash asks whether it shall be shown. */
const MOST_SHOWN = 50;

/**
 * UUIDs of bicycles that begin as typed, each with name and state: those that changed last when nothing was typed. Nothing without a token
 * that is at hand: no command is run for one, and nobody is asked.
 * @param values the flags of the line that is being typed
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
        // Whatever is no UUID could mean something to the shell.
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
  const { isBeginning, pagesAround } = await import('../shared/list/uuid-prefix.js');
  const client = await context.client({ timeoutMs: PATIENCE_MS, retries: 0 });
  const scope: Query = organization === undefined ? [] : [['organization', organization]];
  const list = { path: BICYCLE.listPath, subject: 'the list of bicycles' };
  if (isBeginning(start))
    return yield* pagesAround<Bicycle>(client, { ...list, query: scope }, start);
  if (start !== '') return;
  const query: Query = [...scope, ['ordering', '-modified'], LARGE_PAGE];
  for await (const { items } of client.pages<Bicycle>({ ...list, query })) yield items;
}

/** UUIDs of organizations, zones or models with their names. */
export function findLiveNamed(
  context: Context,
  values: FollowedLine['values'],
  kind: NamedWord,
): Promise<Offers> {
  return withPatience(context, values, async (patient) => {
    const { readNames } = await import('../named/find.js');
    const names = await readNames(
      await patient.client({ timeoutMs: PATIENCE_MS, retries: 0 }),
      NAMED[kind],
    );
    return {
      words: [...(names ?? [])].map(([value, [description = '']]) => ({ value, description })),
    };
  });
}

/** Asks with a token that costs nothing to get, and a context that gives up soon. */
async function withPatience(
  { io, clock, signal }: Context,
  values: FollowedLine['values'],
  ask: (context: Context) => Promise<Offers>,
): Promise<Offers> {
  // An address that was typed and not yet confirmed gets no token.
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

/** A pipe is not read: the command that comes next needs what is in it. */
async function hasCheapToken({ io, settings }: Context): Promise<boolean> {
  const { loadStored } = await import('../../settings/store.js');
  const { findTokenPlace } = await import('../../settings/token-place.js');
  const place = await findTokenPlace(io.env, await loadStored(io.env), await settings());
  if (place === undefined || place.kind === 'command') return false;
  return place.kind !== 'file' || (await stat(place.text)).isFile();
}
