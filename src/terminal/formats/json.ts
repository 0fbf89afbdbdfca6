// Writes JSON, either as an array or object or as JSON lines. The service's JSON is copied without
// being parsed and rewritten.

import { indent, squeeze } from '../../json/text.js';
import { escapeJson } from '../clean.js';
import type { ListedItem, Renderer, RendererTools, Shape } from './renderer.js';

/**
 * Writes an array for a list of any length, or an object for a single result. In a pipe or file,
 * each item is one line, with the service's text unchanged. On a terminal, the JSON is indented.
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

/**
 * Writes one object per line. The JSON text is unchanged, except that line breaks between tokens
 * are removed.
 */
export function openJsonLines<T>(): Renderer<T> {
  return {
    rows(rows) {
      let text = '';
      for (const { json } of rows) text += `${squeeze(json)}\n`;
      return escapeJson(text);
    },
  };
}
