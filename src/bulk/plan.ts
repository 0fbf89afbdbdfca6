// The types of a plan: its tasks with their requests and outcomes, and the plan file.

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
  /** The task's key in a journal. */
  key: string;
  /** The UUID of the bicycle or alert; null for a bicycle to create. */
  uuid: string | null;
  /** The name in the input. */
  name: string | null;
  /** The state and version before the change, if the input contains them. */
  before?: Before;
  /** The values of an edit, in the format that the journal shows. */
  values?: ChangedValues;
  /** The exact values of an edit, which are needed to undo it. */
  fields?: ChangedFields;
  /** This task's transition, when the tasks of a plan have different transitions. */
  verb?: string;
  creation?: Creation;
}

/**
 * A bicycle to create, and the number of its row in the input, counted from 1. Results are printed
 * in row order.
 */
export interface Creation {
  row: number;
  body: NewBicycle;
}

/** The kind of change that a plan makes. */
interface ChangeKind {
  resource: Resource;
  /** The name of the change in messages, for example `retire` or `create`. */
  verb: string;
  /** The command that makes the change. A journal belongs to one command. */
  command: 'create' | 'act' | 'edit';
  /**
   * Whether the change is hard to undo. Fleet then always asks for confirmation, and the user must
   * type a word or number.
   */
  isGrave?: boolean;
  /** A sentence in the confirmation question that says how the change can be undone. */
  warning?: string | undefined;
  /** Whether fleet asks for confirmation even when the change has a single target. */
  isAlwaysAsked?: boolean;
}

/** How the values in a response differ from the values that were sent. */
export interface StoredCheck {
  /** Set when the service ignored values or stored only a part of them. */
  error?: FleetError;
  /** Set when the service normalised the values that it stored. */
  notice?: string;
}

/** A change: how each of its tasks is sent, and how the responses are interpreted. */
export interface BulkChange extends ChangeKind {
  requestOf(task: Task): HttpRequest;
  /**
   * Returns the values for a plan file. Without this function the plan contains the state and the
   * request's body.
   */
  planned?(task: Task): Pick<PlanTarget, 'observed'> & { body: PlanTarget['request']['body'] };
  /**
   * Whether the bicycle already has the values of the task. Such a task is reported as unchanged.
   */
  isUnchanged?(task: Task): boolean;
  /**
   * Whether a refused request may succeed in a different form, such as PATCH instead of PUT. If so,
   * `requestOf` returns the different form for all later requests.
   */
  mayTryOtherwise?(error: FleetError, request: HttpRequest): boolean;
  /** Compares the values in a success response with the values that were sent. */
  checkStored?(task: Task, answer: HttpAnswer): StoredCheck;
  /**
   * Reads the target again right before its request. Returns an error when the request must not be
   * sent, because the target changed or no longer exists.
   */
  checkBefore?(client: Client, task: Task): Promise<FleetError | undefined>;
  /** Returns the failure with a clearer message. */
  explain?(error: FleetError, task: Task): FleetError;
  /**
   * Determines the outcome of unresolved tasks. Uses the service's data and the answers to other
   * tasks. Throws when the service cannot be reached.
   */
  lookUp(client: Client, doubts: readonly Doubt[], shown: ShownByAnswers): Promise<DecidedDoubt[]>;
  /**
   * Reads the name, state and position of a bicycle (`available, at 52.5,13.4`) for a confirmation
   * question. Throws when the service does not show the bicycle.
   */
  lookAt?: ((uuid: string) => Promise<{ name: string | undefined; detail: string }>) | undefined;
}

export interface BulkPlan {
  change: BulkChange;
  tasks: readonly Task[];
  /** Whether the input is read from stdin. Questions are then asked on the terminal device. */
  isStdin: boolean;
  /**
   * The output format of the results. With `single`, a failure of the only task becomes the
   * command's error.
   */
  shape: Shape<Ended>;
  /** Prints the response to a single task instead of its result. */
  show?(answer: HttpAnswer): Promise<void>;
  /**
   * Additional values that identify the journal, in addition to the command, the profile and the
   * URL.
   */
  identity?: { readonly [name: string]: string };
  /**
   * Reads the targets before the confirmation question. Returns an outcome, by task key, for each
   * target whose request must not be sent.
   */
  readTargets?(open: readonly Task[]): Promise<ReadonlyMap<string, TaskEnd>>;
  /** Throws a FleetError of kind `usage` when the keys of a journal do not match the tasks. */
  checkKeys?(keys: Iterable<string>): void;
}

/** A task that an earlier run sent and whose outcome is not known. */
export interface Doubt {
  task: Task;
  entry: JournalEntry;
}

/** The outcome of a task, how it was determined, and its effect on the run. */
export interface TaskEnd {
  result: ChangeResult;
  /** The UUID and name from the response. */
  uuid?: string | null;
  name?: string | null;
  /** How the outcome was determined; `answered` by default. */
  how?: How;
  error?: FleetError | undefined;
  /**
   * Whether the journal must record the outcome. True when a request may have been sent, or when
   * evidence showed the outcome.
   */
  isRecorded?: boolean;
  /** The response to a change that the service accepted. */
  answer?: HttpAnswer | undefined;
  /** A notice for the user when the service stored a value in a different form. */
  notice?: string;
  /** Whether the response shows that the service works. Even a refusal shows this. */
  isWell?: boolean;
  /** Whether the run must stop, because all other tasks would fail in the same way. */
  isFatal?: boolean;
}

/** A task in the queue of a run. A task that needs no request already has its outcome. */
export interface Turn extends Task {
  end?: TaskEnd;
  /** Whether the service may have carried out an earlier request of this task. */
  wasSent?: boolean;
}

/** The information from this run's responses so far. */
export interface ShownByAnswers {
  /** The states of the bicycles, from the responses to their changes. */
  reached: ReadonlySet<string>;
  /** The UUIDs of the bicycles that other tasks created. */
  made: ReadonlySet<string>;
}

/** Returns the transition of a task, or the name of the change. */
export function verbOf({ verb }: Pick<ChangeKind, 'verb'>, task: Pick<Task, 'verb'>): string {
  return task.verb ?? verb;
}

export type TaskDecision =
  /** The change was definitely not carried out and can be sent. */
  | { kind: 'untouched' }
  /**
   * The change was carried out. `how` says where the proof comes from, and `why` explains the proof
   * to the user.
   */
  | { kind: 'done'; uuid?: string | null; state: string | null; how: How; why: string }
  /** The evidence does not show the outcome. `state` is the current state, or null when unknown. */
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
  /** The UUID of the bicycle or alert; null for a creation. */
  readonly uuid: string | null;
  readonly name: string | null;
  /** The input row of a bicycle to create, counted from 1. */
  readonly row?: number;
  /** The values at the service when the plan was written. */
  readonly observed: { readonly [field: string]: unknown };
  readonly request: {
    readonly method: string;
    /** The path relative to the base URL. */
    readonly path: string;
    /** The body of the request. An edit contains only the changed fields. */
    readonly body: { readonly [field: string]: unknown };
  };
}

export interface PlanFile {
  readonly header: PlanHeader;
  readonly targets: readonly PlanTarget[];
  /** The checksum of the plan's lines. It identifies the plan. */
  readonly checksum: string;
}
