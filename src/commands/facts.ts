// The way from our own facts (settings, profiles, findings) to stdout: a small table, JSON, or what jq makes of it.

import type { Context } from '../context.js';
import { escapeJson } from '../terminal/clean.js';
import { writeResults } from '../terminal/jq/results.js';
import { drawList } from '../terminal/list.js';

/**
 * Prints facts.
 * @param value one object, or an array of rows, as programs get it
 * @param table the same for people: rows of cells, headings included
 */
export async function printFacts(
  context: Context,
  format: 'table' | 'json' | 'jsonl',
  value: object,
  table: () => readonly (readonly string[])[],
): Promise<void> {
  const { stdout } = context.io;
  const rows = Array.isArray(value) && format === 'jsonl' ? value : [value];
  const lines = rows.map((row) => escapeJson(JSON.stringify(row)));
  const jq = await context.jq();
  if (jq !== undefined) await writeResults(await jq.run(lines), stdout.write);
  else if (format === 'table') await stdout.write(drawList(table()));
  else await stdout.write(lines.map((line) => `${line}\n`).join(''));
}
