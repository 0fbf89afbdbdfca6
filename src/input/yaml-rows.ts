// Parses rows from YAML: a sequence of mappings, as `-o yaml` writes it.

import { isObject } from '../json/parse.js';
import { type InputRow, type RowPlace, UnreadableInput } from './row.js';

/** Whether a line begins an item of a YAML sequence at the left margin. */
export function isYamlItem(line: string): boolean {
  return /^-(?: |$)/.test(line);
}

/**
 * Parses one item of a YAML sequence: a mapping or a string. Numbers keep their digits. Throws
 * UnreadableInput for invalid YAML.
 */
export async function readYamlItem(lines: readonly string[], place: RowPlace): Promise<InputRow> {
  const { readYamlSequence } = await import('../terminal/formats/yaml.js');
  let items: unknown[];
  try {
    items = await readYamlSequence(lines.join('\n'));
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n', 1)[0] : 'broken YAML';
    throw new UnreadableInput(`broken YAML: ${reason}`, place);
  }
  const [item] = items;
  if (items.length === 1 && isObject(item)) return { place, kind: 'object', fields: item };
  if (items.length === 1 && typeof item === 'string') return { place, kind: 'text', text: item };
  throw new UnreadableInput('an object is expected', place);
}
