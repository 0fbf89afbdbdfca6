// The types of a plan: its tasks, their requests and outcomes, and its file.

import type { NewBicycle } from '../api/bicycle.js';
import type { Resource } from '../api/resource.js';
import type { FleetError } from '../errors.js';
import type { Client } from '../http/client.js';
import type { HttpAnswer, HttpRequest } from '../http/types.js';
import type { Shape } from '../terminal/formats.js';
import type { ChangeResult, Ended } from '../views/action.js';
import type { Before, ChangedFields, ChangedValues, How, JournalEntry } from './journal-records.js';

/** One bicycle or alert to change, or one bicycle to create. */
export interface Task {
  /** The key in a journal. */
  key: string;
  /** Null for a creation. */
  uuid: string | null;
  /** The name in the input. */
  name: string | null;
  /** State and version in the input. */
  before?: Before;
  /** The values of an edit, for the journal. */
  values?: ChangedValues;
  /** The exact values of an edit, which an undo needs. */
  fields?: ChangedFields;
  /** The transition of this task, when the tasks of a plan have different transitions. */
  verb?: string;
  creation?: Creation;
}

/**
 * A bicycle to create, and the number of its row in the input, from 1. Results are printed in this
 * order.
 */
export interface Creation {
  row: number;
  body: NewBicycle;
}

/** The kind of a change. */
interface ChangeKind {
  resource: Resource;
  /** `retire`, `create`. */
  verb: string;
  /** Each journal belongs to one command. */
  command: 'create' | 'act' | 'edit';
  /** Whether it asks before a change even of a single bicycle, and the user must type a word. */
  isGrave?: boolean;
  /** A sentence for the question that says how the change can be undone. */
  warning?: string | undefined;
  /** Whether it asks before a change even of a single bicycle. */
  isAlwaysAsked?: boolean;
}

/** How the values in an answer differ from the values that were sent. */
export interface StoredCheck {
  /** The service ignored or cut values. */
  error?: FleetError;
  /** The service normalised values. */
  notice?: string;
}

/** The change, how each task is sent, and how its answer is judged. */
export interface BulkChange extends ChangeKind {
  requestOf(task: Task): HttpRequest;
  /**
   * Returns the values that a plan file records, when these are not the state and the body of the
   * request.
   */
  planned?(task: Task): Pick<PlanTarget, 'observed'> & { body: PlanTarget['request']['body'] };
  /**
   * Whether the bicycle already has the values of the task. The task is then reported as unchanged.
   */
  isUnchanged?(task: Task): boolean;
  /**
   * Whether the request can be sent in another form after this refusal. From then on `requestOf`
   * returns that form.
   */
  mayTryOtherwise?(error: FleetError, request: HttpRequest): boolean;
  /** Compares the values that were sent with the values in the answer to a success. */
  checkStored?(task: Task, answer: HttpAnswer): StoredCheck;
  /**
   * Reads the target again right before its request. Returns the reason why the request must not be
   * sent: the target changed, or the service answered 404.
   */
  checkBefore?(client: Client, task: Task): Promise<FleetError | undefined>;
  /** Returns a failure with a better message. */
  explain?(error: FleetError, task: Task): FleetError;
  /**
   * Decides unresolved tasks by the service's data and by earlier answers. Throws when the service
   * cannot be reached.
   */
  lookUp(client: Client, doubts: readonly Doubt[], shown: ShownByAnswers): Promise<DecidedDoubt[]>;
  /**
   * Reads the name, state and position of a bicycle (`available, at 52.5,13.4`) for a question.
   * Throws when the service does not show it.
   */
  lookAt?: ((uuid: string) => Promise<{ name: string | undefined; detail: string }>) | undefined;
}

export interface BulkPlan {
  change: BulkChange;
  tasks: readonly Task[];
  /** Whether stdin is the input. Questions are then asked on the terminal itself. */
  isStdin: boolean;
  /**
   * The format of the results. When a task is `single`, its failure is the failure of the command.
   */
  shape: Shape<Ended>;
  /** Prints the answer to a single task instead of its result. */
  show?(answer: HttpAnswer): Promise<void>;
  /**
   * Identifies the journal. The command, the profile and the address also belong to its identity.
   */
  identity?: { readonly [name: string]: string };
  /**
   * Reads the targets before the question. Returns the outcomes of those whose requests must not be
   * sent, by key.
   */
  readTargets?(open: readonly Task[]): Promise<ReadonlyMap<string, TaskEnd>>;
  /** Throws a FleetError of kind `usage` when the keys of a journal do not match the tasks. */
  checkKeys?(keys: Iterable<string>): void;
}

/** A task that an earlier run sent, and whose outcome is not known. */
export interface Doubt {
  task: Task;
  entry: JournalEntry;
}

/** The outcome of a task, the evidence for it, and its effect on the run. */
export interface TaskEnd {
  result: ChangeResult;
  /** The values in the answer. */
  uuid?: string | null;
  name?: string | null;
  /** `answered` when absent. */
  how?: How;
  error?: FleetError | undefined;
  /**
   * Whether the journal records it, because a request may have been sent or evidence decided the
   * task.
   */
  isRecorded?: boolean;
  /** The answer to a change that the service accepted. */
  answer?: HttpAnswer | undefined;
  /**
   * A line about the values that the service stored when they differ from the values that were
   * sent.
   */
  notice?: string;
  /** Whether the service works, because it answered. A refusal is also an answer. */
  isWell?: boolean;
  /** Whether all other tasks would have the same outcome, so that the run stops. */
  isFatal?: boolean;
}

/** A task in the queue of a run. Its outcome is set from the start when it needs no request. */
export interface Turn extends Task {
  end?: TaskEnd;
  /** Whether an earlier request for this task may have been carried out. */
  wasSent?: boolean;
}

/** What the answers of this run and of earlier runs have shown. */
export interface ShownByAnswers {
  /** The states of bicycles after the change. */
  reached: ReadonlySet<string>;
  /** The bicycles that other tasks created. */
  made: ReadonlySet<string>;
}

/** Returns the transition of a task, or the name of the change. */
export function verbOf({ verb }: Pick<ChangeKind, 'verb'>, task: Pick<Task, 'verb'>): string {
  return task.verb ?? verb;
}

export type TaskDecision =
  /** The change was not carried out and can be sent. */
  | { kind: 'untouched' }
  /** Evidence proves the change; `why` names it. */
  | { kind: 'done'; uuid?: string | null; state: string | null; how: How; why: string }
  /** The evidence is not sufficient for a decision. `state` is the state now, or null. */
  | { kind: 'unknown'; state: string | null; why: string };

export type DecidedDoubt = Doubt & TaskDecision;

/** The commands that write plans. */
export const PLAN_COMMANDS = [
  'bicycles act',
  'bicycles edit',
  'bicycles create',
  'alerts act',
] as const;
export type PlanCommand = (typeof PLAN_COMMANDS)[number];

export interface PlanHeader {
  readonly command: PlanCommand;
  readonly base_url: string;
  /** The UUID of the organization; null when none was set. */
  readonly organization: string | null;
  /** When the targets were read, by the service's clock (RFC 3339). */
  readonly time: string;
  readonly targets: number;
}

/** One bicycle or alert to change, or one bicycle to create. */
export interface PlanTarget {
  /** Null for a creation. */
  readonly uuid: string | null;
  readonly name: string | null;
  /** The number of a creation in its input, from 1. */
  readonly row?: number;
  /** The values that the service showed. */
  readonly observed: { readonly [field: string]: unknown };
  readonly request: {
    readonly method: string;
    /** Relative to the base URL. */
    readonly path: string;
    /** For an edit, only the changed fields. */
    readonly body: { readonly [field: string]: unknown };
  };
}

export interface PlanFile {
  readonly header: PlanHeader;
  readonly targets: readonly PlanTarget[];
  /** Identifies the plan: the checksum of its lines. */
  readonly checksum: string;
}
