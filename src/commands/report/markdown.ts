// Draws a report as Markdown tables for a chat.

import type { TimeZone } from '../../system/time-zone.js';
import { clean } from '../../terminal/clean.js';
import type { FleetReport } from './make-report.js';
import { describeReport, figuresTable, idleTable, partsTable, type TextTable } from './tables.js';

export function drawMarkdown(report: FleetReport, zone: TimeZone): string {
  const tables = [figuresTable(report), partsTable(report), idleTable(report, zone)];
  const blocks = tables.flatMap((table) =>
    table === undefined || table.rows.length === 0 ? [] : [drawTable(table)],
  );
  const lines = describeReport(report, zone).map((line) => escapeMarkdown(markPlainly(line)));
  return `${['# Fleet report', lines.join('\n'), ...blocks].join('\n\n')}\n`;
}

function drawTable({ title, header, rows }: TextTable): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map(markPlainly).map(escapeMarkdown).join(' | ')} |`;
  const rule = `|${header.map((_, index) => (index === 0 ? '---' : '---:')).join('|')}|`;
  return [`## ${title}`, '', line(header), rule, ...rows.map(line)].join('\n');
}

/**
 * Replaces the `~` before uncertain numbers, because many chats strike through the text between two
 * tildes.
 */
function markPlainly(text: string): string {
  return text.replace(/^~(?=\d| marks)/, '≈');
}

/** Escapes a name, so that the chat does not show it as markup, a link or a mention. */
function escapeMarkdown(text: string): string {
  return clean(text)
    .replace(/[\\`*_{}[\]<>|#~]/g, (character) => `\\${character}`)
    .replaceAll('@', '&#64;');
}
