// Tests tables at every width, with later batches, unusual cells and many rows.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { widthOf } from '../../src/terminal/cells.js';
import { clean } from '../../src/terminal/clean.js';
import { NO_PAINT } from '../../src/terminal/colour.js';
import { openTable } from '../../src/terminal/formats/table.js';
import type { Column } from '../../src/terminal/table.js';
import { ALERTS } from '../../src/views/alert.js';
import { BICYCLES } from '../../src/views/bicycle.js';
import { anyText, findControls, NAUGHTY } from '../support/naughty.js';
import { ALERT_VALUES, BICYCLE_VALUES, NOW, render, rowsOf } from '../support/rows.js';

const linesOf = (text: string) => text.split('\n').slice(0, -1);
const isNotice = (line: string) => line.startsWith('# ');

function column(header: string, more: Partial<Column<string[]>> = {}): Column<string[]> {
  const index = header.charCodeAt(0) - 'A'.charCodeAt(0);
  return {
    header,
    field: header,
    keep: 9 - index,
    cell: (cells) => ({ text: clean(cells[index] ?? '') }),
    ...more,
  };
}

function draw(
  columns: readonly Column<string[]>[],
  width: number | undefined,
  ...batches: string[][][]
): string {
  const shape = { noun: { one: 'row', many: 'rows' }, columns, fields: [] };
  const tools = {
    width,
    terminal: width !== undefined,
    now: NOW,
    paint: NO_PAINT,
    colorLevel: 0,
  } as const;
  const table = openTable<string[]>(shape, tools);
  return batches.map((batch) => table.rows(rowsOf(batch))).join('') + (table.end?.() ?? '');
}

describe('column widths', () => {
  it('a table fits terminals that are 20 to 200 columns wide', async () => {
    const order = ['NAME', 'STATE', 'CHARGE', 'SEEN', 'ID', 'POSITION'];
    for (let width = 20; width <= 200; width += 1) {
      const screen = await render(BICYCLES, rowsOf(BICYCLE_VALUES), { width, batch: 2 });
      const alerts = await render(ALERTS, rowsOf(ALERT_VALUES), { width, batch: 1 });
      for (const line of [screen, alerts].flatMap(linesOf).filter((text) => !isNotice(text))) {
        expect(widthOf(line)).toBeLessThanOrEqual(width);
        expect(line).not.toMatch(/ $/);
      }
      const [header = '', first = ''] = linesOf(screen);
      const shown = header.split(/ {2,}/);
      expect(shown).toEqual(order.slice(0, shown.length));
      if (width >= 80) expect(shown).toContain('ID');
      expect(screen.includes('# Hidden at this width')).toBe(shown.length < order.length);
      // An ID is shown completely or not at all. A requested UUID has at least eight digits.
      expect(first.includes('  0b9f2c1e')).toBe(shown.includes('ID'));
      expect(first).not.toMatch(/0b9f2c1e-|0b9f2…/);
      const asked = linesOf(
        await render(BICYCLES, rowsOf(BICYCLE_VALUES), { width, columns: ['name', 'uuid'] }),
      );
      expect(asked[0]).toContain('UUID');
      expect(asked[1]).toMatch(/ {2}0b9f2c1e-/);
    }
  });

  it('column widths do not change after the first batch', () => {
    expect(
      draw([column('A'), column('B')], 40, [['short', 'x']], [['much longer than it was', 'y']]),
    ).toBe('A      B\nshort  x\nmuch…  y\n');
  });

  it('a column gets its requested width when there is enough space', () => {
    expect(
      draw([column('A', { room: 12 }), column('B')], 40, [['short', 'x']], [['much longer', 'y']]),
    ).toBe('A             B\nshort         x\nmuch longer   y\n');
  });

  it('column widths are unlimited in a pipe', () => {
    expect(
      draw(
        [column('A'), column('B')],
        undefined,
        [['short', 'x']],
        [['much longer than it was', 'y']],
      ),
    ).toBe('A      B\nshort  x\nmuch longer than it was  y\n');
  });

  it('the least useful column is narrowed first and then dropped', () => {
    const columns = [
      column('A', { minimum: 4 }),
      column('B', { minimum: 4 }),
      column('C', { minimum: 12 }),
    ];
    const row = ['aaaaaaaaaa', 'bbbbbb', 'cccccccccccc'];
    expect(draw(columns, 32, [row])).toBe(
      'A           B       C\naaaaaaaaaa  bbbbbb  cccccccccccc\n',
    );
    expect(draw(columns, 28, [row])).toBe('A         B     C\naaaaaaa…  bbb…  cccccccccccc\n');
    expect(draw(columns, 20, [row])).toBe('A           B\naaaaaaaaaa  bbbbbb\n');
    expect(draw(columns, 9, [row])).toBe('A\naaaaaaaa…\n');
    expect(draw(columns, 3, [row])).toBe('A\naa…\n');
  });

  it('numbers are right-aligned', () => {
    expect(
      draw([column('A', { align: 'right', minimum: 5 }), column('B')], 40, [
        ['1', 'x'],
        ['100', ''],
      ]),
    ).toBe('    A  B\n    1  x\n  100\n');
  });
});

it('tables keep unusual characters aligned (property-based)', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constantFrom(...NAUGHTY), anyText()), { minLength: 1 }),
      fc.integer({ min: 20, max: 200 }),
      (names, width) => {
        const columns = [column('A', { maximum: width - 10 }), column('B', { minimum: 3 })];
        const batch = names.map((name) => [name, '|||']);
        const lines = linesOf(draw(columns, width, batch));
        expect(lines.length).toBe(names.length + 1);
        const [header = '', ...rows] = lines;
        for (const row of rows) {
          expect(findControls(row)).toEqual([]);
          expect(row.endsWith('|||')).toBe(true);
          expect(widthOf(row.slice(0, -3))).toBe(header.length - 1);
        }
      },
    ),
  );
});

it('a long list produces the same table in one or many batches', async () => {
  const rows = rowsOf(
    Array.from({ length: 50 }, (_, index) => ({ ...BICYCLE_VALUES[0], name: `Bicycle ${index}` })),
  );
  for (const width of [80, 140]) {
    expect(await render(BICYCLES, rows, { width, batch: 7 })).toBe(
      await render(BICYCLES, rows, { width }),
    );
  }
});
