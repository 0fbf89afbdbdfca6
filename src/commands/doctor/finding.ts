// What a check of the doctor found, and how it is shown.

import { wrap } from '../../cli/help.js';
import type { ErrorKind, FleetError } from '../../errors.js';
import { clean } from '../../terminal/clean.js';
import type { Paint } from '../../terminal/colour.js';

export type Outcome = 'ok' | 'warning' | 'failure';

export interface Finding {
  /** What was looked at: `token`, `dns`, `push`. */
  check: string;
  outcome: Outcome;
  finding: string;
  /** What to do: a command to paste or a sentence. */
  next?: string | undefined;
  /** For a failure: whose exit code it has. */
  kind?: ErrorKind;
}

/** A finding as programs get it. */
export interface FindingRecord {
  check: string;
  outcome: Outcome;
  finding: string;
  next: string | null;
}

export function ok(check: string, finding: string): Finding {
  return { check, outcome: 'ok', finding };
}

export function warning(check: string, finding: string, next?: string): Finding {
  return { check, outcome: 'warning', finding, next };
}

export function failure(check: string, kind: ErrorKind, finding: string, next?: string): Finding {
  return { check, outcome: 'failure', finding, next, kind };
}

/** An error as a finding: its message, and its hint as the next step. */
export function failed(check: string, { kind, message, hint, status, trace }: FleetError): Finding {
  const origin = [
    ...(status === undefined ? [] : [`HTTP ${status}`]),
    ...(trace.requestId === undefined ? [] : [`request ${trace.requestId}`]),
  ];
  return failure(check, kind, origin.length === 0 ? message : `${message} (${origin.join(', ')})`, hint);
}

const ORDER: readonly Outcome[] = ['failure', 'warning', 'ok'];

/** Failures first, then warnings; otherwise in the order in which a command needs what was looked at. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  return ORDER.flatMap((outcome) => findings.filter((finding) => finding.outcome === outcome));
}

export function toRecord({ check, outcome, finding, next }: Finding): FindingRecord {
  return { check, outcome, finding, next: next ?? null };
}

const OUTCOME_COLUMNS = 9;
const CHECK_COLUMNS = 14;
const COLORS = { ok: 'green', warning: 'yellow', failure: 'red' } as const;

/** The finding in lines: outcome, what was looked at, what was found; then the next step. `width` undefined: nothing is wrapped. */
export function drawFinding(
  { check, outcome, finding, next }: Finding,
  width: number | undefined,
  paint: Paint,
): string {
  const head = outcome.padEnd(OUTCOME_COLUMNS) + check.padEnd(CHECK_COLUMNS);
  const indent = ' '.repeat(OUTCOME_COLUMNS + CHECK_COLUMNS);
  const room = Math.max(20, (width ?? Number.POSITIVE_INFINITY) - indent.length);
  const [first = '', ...rest] = wrap(clean(finding), room);
  const lines = [paint[COLORS[outcome]](head.slice(0, OUTCOME_COLUMNS)) + head.slice(OUTCOME_COLUMNS) + first];
  lines.push(...rest.map((line) => indent + line));
  if (next !== undefined) lines.push(...wrap(`next: ${clean(next)}`, room).map((line) => indent + paint.bold(line)));
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}
