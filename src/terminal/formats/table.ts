// The table: for people fitted to the terminal, for programs the same columns uncut.

import { exactValue } from '../../json/exact.js';
import { openTable, type Table } from '../table.js';
import { checkColumns, fieldColumns, fieldsOf, pickColumns } from './columns.js';
import type { Renderer, RendererTools, Shape } from './renderer.js';

export function openTableRenderer<T>(shape: Shape<T>, tools: RendererTools): Renderer<T> {
  const asked = tools.columns === undefined ? undefined : pickColumns(tools.columns, shape);
  const columns = asked?.columns.map(({ column }) => column) ?? shape.columns;
  let table: Table<T> | undefined;
  const open = (values: readonly T[]) =>
    openTable(columns.length > 0 ? columns : fieldColumns(fieldsOf(values), shape).map(({ column }) => column), tools);
  return {
    begin: () => '',
    rows(rows) {
      if (rows.length === 0) return '';
      const values = rows.map(exactValue);
      if (table === undefined) {
        checkColumns(asked?.doubtful ?? [], values, shape);
        table = open(values);
      }
      return table.rows(values);
    },
    end() {
      table ??= open([]);
      return table.end();
    },
    notices() {
      const dropped = table?.dropped() ?? [];
      return dropped.length === 0 ? [] : [`Hidden at this width: ${dropped.join(', ')}. Every column: -o wide`];
    },
  };
}
