// A workbook for spreadsheets: one sheet with typed cells, widths and a frozen header; text stays text, whatever it begins with.

import type { Cell, CellObject } from 'write-excel-file/node';
import { usageError } from '../../errors.js';
import { exactValue } from '../../json/exact.js';
import { clean } from '../clean.js';
import { readTime } from '../time.js';
import { textOf } from '../values.js';
import { openFileCells } from './columns.js';
import type { Renderer, RendererTools, Shape } from './renderer.js';

/** A sheet has no more, the header included. */
const MOST_ROWS = 1_048_576;
/** A cell has no more. */
const LONGEST_CELL_CHARACTERS = 32_767;
/** A time or most of a name. */
const WIDTH_CHARACTERS = 20;
const TIME_FORMAT = 'yyyy-mm-dd hh:mm:ss';

/** Collects the rows, and makes the file at the end: a spreadsheet cannot be written as it comes. */
export function openXlsx<T>(shape: Shape<T>, tools: RendererTools): Renderer<T> {
  const cellsOf = openFileCells(shape, tools);
  const rows: Cell[][] = [];
  return {
    rows(batch) {
      const values = batch.map(exactValue);
      const { read } = cellsOf(values);
      for (const value of values) rows.push(read(value).map(cellFor));
      if (rows.length >= MOST_ROWS)
        throw usageError('a sheet holds 1,048,575 rows at most', 'use -o csv, or filter');
      return '';
    },
    async finish() {
      const { default: writeXlsxFile } = await import('write-excel-file/node');
      const header = cellsOf([]).names.map(
        (name): CellObject => ({ value: escapeSheet(name), type: String, fontWeight: 'bold' }),
      );
      return writeXlsxFile([header, ...rows], {
        columns: header.map(() => ({ width: WIDTH_CHARACTERS })),
        stickyRowsCount: 1,
        sheet: shape.noun.many,
      }).toBuffer();
    },
  };
}

function cellFor(inner: unknown): Cell {
  if (inner === null || inner === undefined) return null;
  if (typeof inner === 'boolean') return { value: inner, type: Boolean };
  if (typeof inner === 'number') return { value: inner, type: Number };
  const time = /^\d{4}-\d{2}-\d{2}T/.test(String(inner)) ? readTime(inner) : undefined;
  if (time !== undefined) return { value: new Date(time), type: Date, format: TIME_FORMAT };
  return {
    value: escapeSheet(clean(textOf(inner) ?? '').slice(0, LONGEST_CELL_CHARACTERS)),
    type: String,
  };
}

/** A workbook takes `_x0041_` for an A (ECMA-376, ST_Xstring), unless its first sign is written so itself; the library leaves that to us. */
function escapeSheet(text: string): string {
  return text.replace(/_(?=x[0-9a-f]{4}_)/gi, '_x005F_');
}
