// The responses of the MCP tools. A response begins with totals and has at most 20,000 bytes. If
// the result is longer, the response contains the cursor for the next call.

import { spellingOf, writeJson, writtenNumber } from '../../json/exact.js';
import { isObject } from '../../json/parse.js';
import { escapeJson } from '../../terminal/clean.js';
import type { ToolError } from './run-line.js';

/** The maximum length of a response's text, in UTF-8 bytes. */
export const MOST_BYTES = 20_000;

/** A row from the service. Numbers keep all their digits. */
export type ToolRow = { readonly [field: string]: unknown };

/** The response of a tool that returns rows. */
export interface RowsAnswer {
  /** The total number of rows, or null when the service does not count them. */
  readonly total: number | null;
  readonly shown: number;
  /**
   * The number of rows in the list after the last row of this response. Null when this number is
   * unknown.
   */
  readonly more: number | null;
  /** The cursor that the next call passes to get further rows; null when there are no more rows. */
  readonly cursor: string | null;
  readonly rows: readonly ToolRow[];
}

/**
 * Returns the first rows, as many as fit into a response. `offset` is the position of the first row
 * in the whole list. `hasMore` means that the list continues after the last row.
 */
export function fitRows(
  rows: readonly ToolRow[],
  { total, offset, hasMore }: { total: number | null; offset: number; hasMore: boolean },
): RowsAnswer {
  for (let shown = rows.length; ; shown--) {
    const end = offset + shown;
    const isLast = shown === rows.length && !hasMore;
    const answer: RowsAnswer = {
      total,
      shown,
      more: isLast ? 0 : total === null ? null : Math.max(0, total - end),
      cursor: isLast ? null : String(end),
      rows: rows.slice(0, shown),
    };
    if (shown === 0 || sizeOf(answer) <= MOST_BYTES) return answer;
  }
}

/**
 * Returns a report with as many of its metrics as fit into a response. The metrics for the whole
 * period come first. A note states how many metrics were omitted.
 */
export function fitFigures(report: unknown): unknown {
  if (!isObject(report) || !Array.isArray(report['figures'])) return report;
  const figures: unknown[] = report['figures'];
  for (let shown = figures.length; shown > 0; shown--) {
    const leftOut = figures.length - shown;
    const note = `${leftOut} figures of parts: ask for a shorter period`;
    const kept = { ...report, figures: figures.slice(0, shown) };
    const answer = leftOut === 0 ? kept : { ...kept, left_out: [note] };
    if (sizeOf(answer) <= MOST_BYTES) return answer;
  }
  return report;
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(escapeJson(writeJson(value)));
}

/**
 * Returns the result of a call. The result contains the same object twice: as text, and as
 * structured content.
 */
export function answerWith(value: object) {
  return {
    // Hidden characters in names are escaped, so that the reader sees every character.
    content: [{ type: 'text' as const, text: escapeJson(writeJson(value)) }],
    structuredContent: plainJson(value) as { [field: string]: unknown },
  };
}

/** Truncates a value that is too long for a response, and adds a note. */
export function cutValue(value: unknown): unknown {
  if (sizeOf(value) <= MOST_BYTES) return value;
  if (!isObject(value)) return { left_out: 'the value is larger than 20,000 bytes' };
  const kept: { [field: string]: unknown } = {};
  const leftOut: string[] = [];
  for (const [field, part] of Object.entries(value)) {
    const isFitting = sizeOf({ ...kept, [field]: part }) < MOST_BYTES - 1_000;
    if (isFitting) kept[field] = part;
    else leftOut.push(field);
  }
  return { ...kept, left_out: leftOut.slice(0, 100) };
}

/** Returns the result of a failed call. */
export function answerError(error: ToolError) {
  return {
    isError: true,
    content: [{ type: 'text' as const, text: escapeJson(JSON.stringify({ error })) }],
  };
}

/**
 * Converts exact numbers to JavaScript numbers. A number that would lose digits in this conversion
 * becomes a string.
 */
function plainJson(value: unknown): unknown {
  const written = writtenNumber(value);
  if (written !== undefined) {
    const number = Number(written);
    const isExact = String(number) === written;
    return isExact ? number : (spellingOf(value) ?? written);
  }
  if (Array.isArray(value)) return value.map(plainJson);
  if (!isObject(value)) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([field, part]) => [field, plainJson(part)]));
}
