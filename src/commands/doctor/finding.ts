// The result of a check, and its output.

import { describeError, type ErrorKind, type FleetError } from '../../errors.js';
import { clean } from '../../terminal/clean.js';
import type { Shape } from '../../terminal/formats.js';

export interface Finding {
  /** The name of the check, such as `token`, `dns` or `push`. */
  check: string;
  outcome: 'ok' | 'warning' | 'failure';
  finding: string;
  /** The next step for the user: a command to paste, or a sentence. */
  next: string | null;
  /** The kind of the error, for a failure. It determines the exit code. */
  kind?: ErrorKind;
}

export function ok(check: string, finding: string): Finding {
  return { check, outcome: 'ok', finding, next: null };
}

export function warning(check: string, finding: string, next: string | null = null): Finding {
  return { check, outcome: 'warning', finding, next };
}

export function failure(
  check: string,
  kind: ErrorKind,
  finding: string,
  next: string | null = null,
): Finding {
  return { check, outcome: 'failure', finding, next, kind };
}

/** Converts an error into a finding. The error's hint becomes the next step. */
export function failed(check: string, error: FleetError): Finding {
  return failure(check, error.kind, describeError(error), error.hint ?? null);
}

/** Matches a next step that is a command to paste: it begins with the name of a program. */
const COMMAND = /^(?:fleet|chmod|chown|sudo|mv|export|unset|set|\$env:|\w+=)(?:\s|$|\w)/;

/**
 * Returns the next step as a sentence. A command gets the prefix "run:"; any other next step is
 * already a sentence.
 */
export function describeNext(next: string): string {
  return COMMAND.test(next) ? `run: ${next}` : next;
}

/** The mark and colour of each outcome in the order of severity, worst first. */
const MARKS = { failure: ['✗', 'red'], warning: ['!', 'yellow'], ok: ['✓', 'green'] } as const;

/** Sorts failures first, then warnings. Within these groups, the order of the checks is kept. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  return Object.keys(MARKS).flatMap((outcome) =>
    findings.filter((finding) => finding.outcome === outcome),
  );
}

export const FINDINGS: Shape<Finding> = {
  noun: { one: 'finding', many: 'findings' },
  isReport: true,
  fields: ['check', 'outcome', 'finding', 'next'],
  columns: [
    {
      header: ' ',
      programHeader: 'OUTCOME',
      field: 'outcome',
      keep: 3,
      cell({ outcome }, { terminal }) {
        const [mark, color] = MARKS[outcome];
        return { text: terminal ? mark : outcome, color };
      },
    },
    { header: 'CHECK', field: 'check', keep: 2, cell: ({ check }) => ({ text: check }) },
    {
      header: 'FINDING',
      field: 'finding',
      keep: 1,
      minimum: 16,
      cell: ({ finding, next }) => ({
        text: clean(next === null ? finding : `${finding}; ${describeNext(next)}`),
      }),
    },
  ],
};
