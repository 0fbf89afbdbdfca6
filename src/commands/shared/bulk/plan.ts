// What a bulk command is made of: what is changed, how one change is sent, and what is known of those in doubt.

import type { NewBicycle } from '../../../api/bicycle.js';
import type { Resource } from '../../../api/resource.js';
import type { FleetError } from '../../../errors.js';
import type { Client } from '../../../http/client.js';
import type { HttpAnswer, HttpRequest } from '../../../http/types.js';
import type { Shape } from '../../../terminal/formats.js';
import type { ChangeResult, Ended } from '../../../views/action.js';
import type { UnknownChoice } from './flags.js';
import type { Before, ChangedValues, How, JournalEntry } from './journal-records.js';

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

/** One thing that is to be changed, or one bicycle that is to be created. */
export interface Task {
  /** Its identity in a journal. */
  key: string;
  /** Null where it is to be created. */
  uuid: string | null;
  /** As the input has it. */
  name: string | null;
  /** State and version as the input has them. */
  before?: Before;
  /** The values of an edit, for the journal. */
  values?: ChangedValues;
  creation?: Creation;
}

/** A bicycle that is asked for, and where it stands in the input, from 1 on: results come out in that order. */
export interface Creation {
  row: number;
  body: NewBicycle;
}

/** What kind of a change it is. */
interface ChangeKind {
  resource: Resource;
  /** `retire`, `create`. */
  verb: string;
  /** A journal belongs to one of them. */
  command: 'create' | 'act' | 'edit';
  /** Whether it asks before a single one too, and asks for a word to be typed. */
  isGrave?: boolean;
  /** A sentence about the way back, for the question. */
  warning?: string | undefined;
  /** Whether it asks before one too, where somebody can be asked. */
  isAlwaysAsked?: boolean;
}

/** How the values in an answer differ from those that were sent. */
export interface StoredCheck {
  /** The service ignored or cut values. */
  error?: FleetError;
  /** The service normalised values. */
  notice?: string;
}

/** What is done to each of them. */
export interface BulkChange extends ChangeKind {
  requestOf(task: Task): HttpRequest;
  /** Whether the bicycle already has the values of the task, which is then reported as unchanged. */
  isUnchanged?(task: Task): boolean;
  /** Whether a refusal of the request means that it may be sent in another form, which `requestOf` gives from now on. */
  mayTryOtherwise?(error: FleetError, request: HttpRequest): boolean;
  /** Compares the values that were sent with those that the answer to a success shows. */
  checkStored?(task: Task, answer: HttpAnswer): StoredCheck;
  /** Reads the target again right before its request. Returns the reason when the request must not be sent, because the target changed. */
  checkBefore?(client: Client, task: Task): Promise<FleetError | undefined>;
  /** A failure of the request in better words. */
  explain?(error: FleetError, task: Task): FleetError;
  /** Asks the service about those in doubt, and decides each by evidence and by what answers have shown. Throws when it is out of reach. */
  lookUp(client: Client, doubts: readonly Doubt[], shown: ShownByAnswers): Promise<DecidedDoubt[]>;
  /** Asks for the name of one, and for how and where it is now (`available, at 52.5,13.4`), for people. Throws where the service does not show it. */
  lookAt?: ((uuid: string) => Promise<{ name: string | undefined; detail: string }>) | undefined;
}

export interface BulkPlan {
  change: BulkChange;
  tasks: readonly Task[];
  /** Whether stdin is the input, so that questions need the terminal behind it. */
  isStdin: boolean;
  /** How results look. A `single` one is the command's, and its failure the command's failure. */
  shape: Shape<Ended>;
  /** Prints the answer to a single one, in place of its result. */
  show?(answer: HttpAnswer): Promise<void>;
  /** What tells its journal from others, beside command, profile and address. */
  identity?: { readonly [name: string]: string };
  /** Refuses a journal whose keys do not go with the tasks, with a FleetError of kind `usage`. */
  checkKeys?(keys: Iterable<string>): void;
}

/** A task that an earlier run sent and of which no answer proves what became. */
export interface Doubt {
  task: Task;
  entry: JournalEntry;
}

/** What became of a task, how that is known, and what it means for the run. */
export interface TaskEnd {
  result: ChangeResult;
  /** As the answer has them. */
  uuid?: string | null;
  name?: string | null;
  /** The service answered when absent. */
  how?: How;
  error?: FleetError | undefined;
  /** Whether the journal has to know it: a request may have left, or it is decided now. */
  isRecorded?: boolean;
  /** Of a change that the service accepted. */
  answer?: HttpAnswer | undefined;
  /** A line about what the service stored in place of the values that were sent. */
  notice?: string;
  /** Whether the service is well: it answered, if only with a refusal. */
  isWell?: boolean;
  /** Whether the same will happen to the others, so that the run stops. */
  isFatal?: boolean;
}

/** A task whose turn comes in a run, with its end where that is known without a request. */
export interface Turn extends Task {
  end?: TaskEnd;
  /** Whether an earlier request for this task may have been carried out. */
  wasSent?: boolean;
}

/** What the answers of this run and of earlier ones say of the change. */
export interface ShownByAnswers {
  /** The states that bicycles were in after it. */
  reached: ReadonlySet<string>;
  /** The bicycles that other tasks made. */
  made: ReadonlySet<string>;
}

export type TaskDecision =
  /** Nothing has happened to the bicycle since: it may be sent. */
  | { kind: 'untouched' }
  /** There is evidence of the action itself; `why` says which. */
  | { kind: 'done'; uuid?: string | null; state: string | null; how: How; why: string }
  /** Neither is certain; the state is what it is now, null when not even that is known. */
  | { kind: 'unknown'; state: string | null; why: string };

export type DecidedDoubt = Doubt & TaskDecision;
