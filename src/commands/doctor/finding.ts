// What a check of the doctor found, and how it is shown.

import type { ErrorKind, FleetError } from '../../errors.js';
import { widthOf, wrap } from '../../terminal/cells.js';
import { clean } from '../../terminal/clean.js';
import type { Paint } from '../../terminal/colour.js';
import type { Output } from '../../terminal/io.js';
import { drawMark } from '../../terminal/marks.js';

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

const COLORS = { ok: 'green', warning: 'yellow', failure: 'red' } as const;
const MARKS = { ok: 'done', warning: 'warning', failure: 'failure' } as const;
const GAP_COLUMNS = 2;
/** Findings are wrapped no narrower. */
const NARROWEST_COLUMNS = 20;

/** The findings as rows for `drawRows`: outcome (a mark on a terminal), what was looked at, what was found, and below it the next step. */
export function findingRows(findings: readonly Finding[], output: Output, paint: Paint): string[][] {
  const width = output.width();
  const outcomes = findings.map(({ outcome }) =>
    output.isTerminal ? drawMark(MARKS[outcome], output, paint) : paint[COLORS[outcome]](outcome),
  );
  const outcomeColumns = output.isTerminal ? (output.hasUnicode ? 1 : 2) : 0;
  const checkColumns = Math.max(0, ...findings.map(({ check }) => widthOf(check)));
  const room =
    width === undefined
      ? undefined
      : Math.max(NARROWEST_COLUMNS, width - outcomeColumns - checkColumns - 2 * GAP_COLUMNS);
  const rows = findings.map(({ check, finding, next }, index) => {
    const steps =
      next === undefined ? [] : wrap(`next: ${clean(next)}`, room, '      ').map((line) => paint.bold(line));
    return [outcomes[index] ?? '', check, [...wrap(clean(finding), room), ...steps].join('\n')];
  });
  const well = findings.findIndex(({ outcome }) => outcome === 'ok');
  // What needs a look stands apart from what is well.
  return output.isTerminal && well > 0 ? [...rows.slice(0, well), ['', '', ''], ...rows.slice(well)] : rows;
}
