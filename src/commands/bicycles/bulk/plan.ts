// What a change is made of: its tasks, what is sent for each, how its results look, how its doubts are settled.

import type { Client } from '../../../http/client.js';
import type { HttpRequest } from '../../../http/types.js';
import type { Shape } from '../../../terminal/formats.js';
import type { Facts } from '../../../views/action.js';
import type { Binding, Entry } from './journal.js';
import type { Change } from './question.js';

/** What the flags of every change say. */
export interface ChangeOptions {
  yes?: boolean;
  dryRun?: boolean;
  concurrency: number;
  failFast?: boolean;
  journal?: string;
}

/** What is to be done; T is one task, R one result. */
export interface Plan<T, R extends Facts> {
  /** `retire`, `create`. */
  verb: string;
  /** A stream is acted on as it comes. */
  tasks: readonly T[] | AsyncIterable<T>;
  /** Whether the one task is all there is: then its result is the command's, and its failure the command's failure. */
  isSingle: boolean;
  shape: Shape<R>;
  keyOf(task: T): string;
  /** What the task is called in a question. */
  labelOf(task: T): string;
  requestOf(task: T): HttpRequest;
  resultOf(task: T, facts: Facts, uuid: string | null): R;
  /** Where the result stands in the output, from 1 on; undefined: in the order of their ending. */
  placeOf(task: T): number | undefined;
  /** The journal's line of identity. */
  binding: Binding;
  /** Refuses a journal whose keys do not go with the tasks, with a FleetError of kind `usage`. */
  checkJournal?(keys: Iterable<string>): void;
  /** Whether the answers are new bicycles, each with a UUID that nobody knew. */
  makesBicycles: boolean;
  /** Looks in the list for what became of tasks whose answer nobody has. `made` are the bicycles that other tasks made. */
  lookUp(client: Client, doubts: readonly Doubt<T>[], made: ReadonlySet<string>): Promise<Map<T, Finding>>;
  /** Whether a state is where the change leads; `reached` are the states that the service answered to it. */
  isReached(state: string, reached: ReadonlySet<string>): boolean;
  /** The question to ask before, when there is one for that many. */
  questionFor(count: number): Pick<Change, 'isGrave'> | undefined;
  /** Whether stdin is the input, so that questions need the terminal behind it. */
  isStdinTaken: boolean;
}

/** A task that an earlier run sent and of which no answer proves what became. */
export interface Doubt<T> {
  task: T;
  entry: Entry;
}

/** What the list tells of it. */
export type Finding =
  /** The service has not carried it out. */
  | { kind: 'untouched' }
  /** It has, as the list shows. */
  | { kind: 'done'; uuid: string | null; state: string | null }
  /** Something has happened to it since; whether it was this change is told by the state at the most. */
  | { kind: 'changed'; state: string | null };
