// Reads distances and travel times from an OSRM server. Uses the service `table` of its HTTP API,
// version 1.

import type { Context } from '../../context.js';
import { addAddressSecrets } from '../../system/secrets.js';
import { count } from '../../terminal/count.js';
import { openProgress } from '../../terminal/progress.js';
import type { Spot } from './distances.js';
import { askServer, codeFailure, ServerFailure } from './server-request.js';

export interface RouterInput {
  readonly router: URL;
  readonly spots: readonly Spot[];
  /** The estimated distances, used for legs without a travel time from the router. */
  readonly metres: Int32Array;
  readonly secondsPerMetre: number;
}

export interface RouterMatrix {
  readonly metres: Int32Array;
  readonly seconds: Int32Array;
}

/**
 * The maximum number of rows and columns in one request. OSRM has the same default limit
 * (`--max-table-size`).
 */
const MOST_PLACES = 100;
/** The number of parallel requests. */
const WORKERS = 4;
/** The time limit for the request of one block, and the time limit for all blocks together. */
const BLOCK_LIMIT_MS = 10_000;
const ROUTER_LIMIT_MS = 60_000;
/** The largest accepted distance and time. No real leg exceeds them. */
const LONGEST_METRES = 40_000_000;
const LONGEST_SECONDS = 10_000_000;
/** The number of decimals of a position. Six decimals correspond to a precision of 11 cm. */
const DECIMALS = 6;

/**
 * A rectangular block of the distance table, from the places in `rows` to the places in `columns`.
 * Each router request returns one block.
 */
interface Block {
  readonly rows: readonly number[];
  readonly columns: readonly number[];
}

/**
 * Reads the distance and the travel time between all pairs of places from the router. Requests each
 * pair once. When the router cannot be used, prints a warning and returns undefined.
 */
export async function readRouterMatrix(
  context: Context,
  input: RouterInput,
): Promise<RouterMatrix | undefined> {
  const { router, spots, metres: straight, secondsPerMetre } = input;
  addAddressSecrets(router, context.io.secrets);
  const metres = new Int32Array(straight.length);
  const seconds = new Int32Array(straight.length);
  const blocks = blocksOf(spots.length);
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  const cancelLimit = context.clock.after(ROUTER_LIMIT_MS, () =>
    failed.abort(new Error(`it took longer than ${ROUTER_LIMIT_MS / 1000} s`)),
  );
  let [done, missing, next] = [0, 0, 0];
  const draw = () => `reading distances from the router … ${done} of ${blocks.length}`;
  const progress = openProgress(context, { draw });
  const work = async () => {
    for (let block = blocks[next++]; block !== undefined; block = blocks[next++]) {
      const { durations, distances } = await readBlock(context, input, block, signal);
      for (const [row, from] of block.rows.entries()) {
        for (const [column, to] of block.columns.entries()) {
          const at = from * spots.length + to;
          const [time, distance] = [durations[row]?.[column], distances[row]?.[column]];
          const isMissing = typeof time !== 'number' || typeof distance !== 'number';
          if (isMissing && from !== to) missing += 1;
          metres[at] = isMissing ? (straight[at] ?? 0) : Math.round(distance);
          seconds[at] = Math.round(isMissing ? (straight[at] ?? 0) * secondsPerMetre : time);
        }
      }
      done += 1;
    }
  };
  try {
    await Promise.all(
      Array.from({ length: WORKERS }, () =>
        work().catch((error: unknown) => {
          failed.abort(error);
          throw error;
        }),
      ),
    );
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof ServerFailure)) throw error;
    await context.notice(
      `! the router at ${router.origin} cannot be used: ${error.message}; fleet uses straight lines times 1.3`,
    );
    return undefined;
  } finally {
    cancelLimit();
    progress.end();
  }
  if (missing > 0)
    await context.notice(
      `! the router at ${router.origin} has no time for ${count(missing, 'leg')}, which are straight lines times 1.3`,
    );
  return { metres, seconds };
}

/** Splits the table into blocks of at most 100 rows and 100 columns. */
function blocksOf(size: number): Block[] {
  const parts: number[][] = [];
  for (let first = 0; first < size; first += MOST_PLACES)
    parts.push(
      Array.from({ length: Math.min(MOST_PLACES, size - first) }, (_, index) => first + index),
    );
  return parts.flatMap((rows) => parts.map((columns) => ({ rows, columns })));
}

/**
 * Returns the URL that requests a block. The path lists the coordinates of each place once. The
 * query selects the start places and the end places by their index in this list.
 */
function addressOf(router: URL, spots: readonly Spot[], { rows, columns }: Block): URL {
  const places = rows === columns ? rows : [...rows, ...columns];
  const text = places
    .map((place) => (spots[place] as Spot).map((degrees) => degrees.toFixed(DECIMALS)).join(','))
    .join(';');
  const url = new URL(
    `${router.href.replace(/[?#].*$/, '').replace(/\/+$/, '')}/table/v1/driving/${text}`,
  );
  const indexes = (first: number, length: number) =>
    Array.from({ length }, (_, index) => first + index).join(';');
  const query = ['annotations=duration,distance'];
  if (rows !== columns) {
    query.push(`sources=${indexes(0, rows.length)}`);
    query.push(`destinations=${indexes(rows.length, columns.length)}`);
  }
  url.search = query.join('&');
  return url;
}

type Table = readonly (readonly (number | null)[])[];

async function readBlock(
  context: Context,
  { router, spots }: RouterInput,
  block: Block,
  signal: AbortSignal,
): Promise<{ durations: Table; distances: Table }> {
  const url = addressOf(router, spots, block);
  const answer = await askServer(context, { url, limitMs: BLOCK_LIMIT_MS, signal });
  if (answer['code'] !== 'Ok') throw codeFailure(context, answer['code']);
  return {
    durations: readTable(answer['durations'], 'durations', block, LONGEST_SECONDS),
    distances: readTable(answer['distances'], 'distances', block, LONGEST_METRES),
  };
}

/**
 * Checks a table in an answer. The table must have the expected size, and each value must be null
 * or a plausible number.
 */
function readTable(value: unknown, name: string, { rows, columns }: Block, most: number): Table {
  const wanted = `${rows.length} by ${columns.length}`;
  if (!Array.isArray(value)) throw new ServerFailure(`its answer has no ${name}`);
  const isRow = (row: unknown) => Array.isArray(row) && row.length === columns.length;
  if (value.length !== rows.length || !value.every(isRow))
    throw new ServerFailure(`its table of ${name} is not ${wanted}`);
  const isPossible = (each: unknown) =>
    each === null || (typeof each === 'number' && each >= 0 && each <= most);
  if (!value.flat().every(isPossible))
    throw new ServerFailure(`its table of ${name} has a value that is not a possible number`);
  return value;
}
