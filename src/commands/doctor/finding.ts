// The finding of one check, and how it is printed.

import { describeError, type ErrorKind, type FleetError } from '../../errors.js';
import { widthOf, wrap } from '../../terminal/cells.js';
import { clean } from '../../terminal/clean.js';
import type { Paint } from '../../terminal/colour.js';
import type { Output } from '../../terminal/io.js';
import { drawMark } from '../../terminal/marks.js';

/** A finding as programs get it. */
export interface FindingRecord {
  /** The name of the check: `token`, `dns`, `push`. */
  check: string;
  outcome: 'ok' | 'warning' | 'failure';
  finding: string;
  /** What to do: a command to paste or a sentence. */
  next: string | null;
}

export interface Finding extends FindingRecord {
  /** For a failure: the kind of its exit code. */
  kind?: ErrorKind;
}

export function ok(check: string, finding: string): Finding {
  return { check, outcome: 'ok', finding, next: null };
}

export function warning(check: string, finding: string, next: string | null = null): Finding {
  return { check, outcome: 'warning', finding, next };
}

export function failure(check: string, kind: ErrorKind, finding: string, next: string | null = null): Finding {
  return { check, outcome: 'failure', finding, next, kind };
}

/** An error as a finding: its message, and its hint as the next step. */
export function failed(check: string, error: FleetError): Finding {
  return failure(check, error.kind, describeError(error), error.hint ?? null);
}

/** How each outcome looks, the worst first. */
const LOOKS = {
  failure: { color: 'red', mark: 'failure' },
  warning: { color: 'yellow', mark: 'warning' },
  ok: { color: 'green', mark: 'done' },
} as const;

/** Failures first, then warnings; otherwise in the order in which a command needs what was looked at. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  return Object.keys(LOOKS).flatMap((outcome) => findings.filter((finding) => finding.outcome === outcome));
}

const GAP_COLUMNS = 2;
/** Findings are wrapped no narrower. */
const NARROWEST_COLUMNS = 20;

/** Sorted findings as rows for `drawRows`: outcome (a mark on a terminal), what was looked at, what was found, and below it the next step. */
export function findingRows(
  findings: readonly Finding[],
  output: Pick<Output, 'isTerminal' | 'hasUnicode' | 'width'>,
  paint: Paint,
): string[][] {
  const { isTerminal } = output;
  const outcomeColumns = isTerminal ? (output.hasUnicode ? 1 : 2) : 0;
  const checkColumns = Math.max(0, ...findings.map(({ check }) => widthOf(check)));
  const room = (output.width() ?? Number.POSITIVE_INFINITY) - outcomeColumns - checkColumns - 2 * GAP_COLUMNS;
  const fit = (text: string, indent?: string) =>
    wrap(clean(text), Number.isFinite(room) ? Math.max(NARROWEST_COLUMNS, room) : undefined, indent);
  const rows = findings.map(({ check, outcome, finding, next }) => {
    const { color, mark } = LOOKS[outcome];
    const steps = next === null ? [] : fit(`next: ${next}`, '      ').map((line) => paint.bold(line));
    return [
      isTerminal ? drawMark(mark, output, paint) : paint[color](outcome),
      check,
      [...fit(finding), ...steps].join('\n'),
    ];
  });
  const well = findings.findIndex(({ outcome }) => outcome === 'ok');
  // An empty line between problems and what is well.
  return isTerminal && well > 0 ? [...rows.slice(0, well), ['', '', ''], ...rows.slice(well)] : rows;
}
