// What a bulk command is made of: its tasks, what is sent for each, how results look, what its journal and its doubts are.

import type { Resource } from '../../api/resource.js';
import type { Client } from '../../http/client.js';
import type { Shape } from '../../terminal/formats.js';
import type { ChangeResult, Ended } from '../../views/action.js';
import type { Named } from './answer.js';
import type { Change } from './exchange.js';
import type { Question } from './question.js';
import type { Before, Binding, Entry } from './records.js';

/** What becomes of doubts that no evidence decides. */
export type UnknownChoice = 'leave' | 'done' | 'resend';

/** The flags of every change. */
export interface ChangeOptions {
  yes?: boolean;
  dryRun?: boolean;
  concurrency: number;
  failFast?: boolean;
  journal?: string;
  /** Seconds in which requests of a dead run may still arrive. */
  settle: number;
  /** Undefined: asked on a terminal, `leave` elsewhere. */
  unknown?: UnknownChoice;
}

/** What is to be done; T is one task. */
export interface Plan<T> {
  /** What is changed. */
  resource: Resource;
  /** `retire`, `create`. */
  verb: string;
  input: TaskInput<T>;
  change: ChangeRules<T>;
  result: ResultRules<T>;
  journal: JournalRules;
  doubts: DoubtRules<T>;
}

export interface TaskInput<T> {
  /** A stream is acted on as it comes. */
  tasks: readonly T[] | AsyncIterable<T>;
  /** Whether the one task is all there is: then its result is the command's, and its failure the command's failure. */
  isSingle: boolean;
  /** Whether stdin is the input, so that questions need the terminal behind it. */
  isStdin: boolean;
  /** The question to ask before, when there is one for that many. */
  questionFor(count: number): Pick<Question, 'isGrave'> | undefined;
}

export interface ChangeRules<T> {
  keyOf(task: T): string;
  /** What the task is called in a question; a name may be asked for where somebody reads it. */
  labelOf(task: T): string | Promise<string>;
  changeOf(task: T): Change;
  /** Whether the answers are new bicycles, each with a UUID that nobody knew. */
  makesBicycles: boolean;
  /** Whether the service is only asked whether each would be allowed. */
  isDryRun: boolean;
}

export interface ResultRules<T> {
  shape: Shape<Ended>;
  of(task: T, result: ChangeResult, named: Pick<Named, 'uuid' | 'name'>): Ended;
  /** Where the result stands in the output, from 1 on; undefined: in the order of their ending. */
  placeOf(task: T): number | undefined;
  /** Asks for the name of a bicycle, for lines that people read. */
  nameOf?(uuid: string): Promise<string | undefined>;
}

export interface JournalRules {
  /** The journal's line of identity. */
  binding: Binding;
  /** Refuses a journal whose keys do not go with the tasks, with a FleetError of kind `usage`. */
  check?(keys: Iterable<string>): void;
}

export interface DoubtRules<T> {
  /** The bicycle as the input has it, else as a current mirror does. */
  beforeOf(task: T): Promise<Before | null>;
  /** Lets go of the mirror. */
  close?(): Promise<void>;
  /** Asks the service for evidence about the tasks in doubt, and gives what decides them by it and by what is known then. */
  lookUp(client: Client, doubts: readonly Doubt<T>[]): Promise<Decide<T>>;
}

/** A task that an earlier run sent and of which no answer proves what became. */
export interface Doubt<T> {
  task: T;
  entry: Entry;
}

/** What the answers of this run and of earlier ones say of the change. */
export interface Known {
  /** The states that bicycles were in after it. */
  reached: ReadonlySet<string>;
  /** The bicycles that other tasks made. */
  made: ReadonlySet<string>;
}

export type Decide<T> = (known: Known) => Map<T, Decision>;

export type Decision =
  /** Nothing has happened to the bicycle since: it may be sent. */
  | { kind: 'untouched' }
  /** There is evidence of the action itself; `why` says which. */
  | { kind: 'done'; uuid: string | null; state: string | null; why: string }
  /** Neither is certain; the state is what it is now, null when not even that is known. */
  | { kind: 'unknown'; state: string | null; why: string };
