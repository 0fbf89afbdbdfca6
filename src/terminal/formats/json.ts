// JSON as one array or one object, and JSON lines: the service's own text, never read and written again.

import { indent, squeeze } from '../../json/text.js';
import { escapeJson } from '../clean.js';
import type { ListedItem, Renderer, RendererTools, Shape } from './renderer.js';

/**
 * One array for a list, whatever its length, or one object for a single result. For programs each item is on a line of its own
 * exactly as it came; for people it is indented.
 */
export function openJson<T>(shape: Shape<T>, { terminal, paint }: RendererTools): Renderer<T> {
  const isList = shape.single !== true;
  const margin = isList && terminal ? '  ' : '';
  let count = 0;
  const show = ({ json }: ListedItem<T>) =>
    margin + (terminal ? indent(escapeJson(json), margin, paint.cyan) : escapeJson(squeeze(json)));
  return {
    begin: () => (isList ? '[' : ''),
    rows(rows) {
      if (rows.length === 0) return '';
      const separator = count > 0 ? ',\n' : isList ? '\n' : '';
      count += rows.length;
      return separator + rows.map(show).join(',\n');
    },
    end: () => (isList ? (count > 0 ? '\n]\n' : ']\n') : count > 0 ? '\n' : ''),
  };
}

/** One object a line, exactly as it came but for line breaks between its tokens. */
export function openJsonLines<T>(): Renderer<T> {
  return {
    rows(rows) {
      let text = '';
      for (const { json } of rows) text += `${escapeJson(squeeze(json))}\n`;
      return text;
    },
  };
}
