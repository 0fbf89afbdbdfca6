// Reads the number formats of a workbook.

import { type NumberFormat, numberFormatOf } from './number-format.js';
import { WorkbookLimitError } from './workbook-limits.js';
import type { OpenPart } from './workbook-parts.js';
import { readXml } from './xml.js';

/** The maximum number of cell styles. Excel allows 65,490. */
const MOST_STYLES = 100_000;

/** Returns the number format of a cell. `style` is the attribute `s` of the cell. */
export type FormatOfStyle = (style: number) => NumberFormat;

export async function readStyles(open: OpenPart, part: string | undefined): Promise<FormatOfStyle> {
  const codes = new Map<number, string>();
  const formatIds: number[] = [];
  const chunks = part === undefined ? undefined : open(part);
  if (chunks !== undefined) {
    await readXml(chunks, {
      open({ name, attributes }, path) {
        if (path.length !== 2) return;
        const parent = path[1]?.name;
        if (parent === 'numFmts' && name === 'numFmt')
          codes.set(Number(attributes['numFmtId']), attributes['formatCode'] ?? '');
        if (parent === 'cellXfs' && name === 'xf')
          formatIds.push(Number(attributes['numFmtId'] ?? 0));
        if (codes.size > MOST_STYLES || formatIds.length > MOST_STYLES)
          throw new WorkbookLimitError(`it has more than ${MOST_STYLES} cell styles`);
      },
      text() {},
      close() {},
    });
  }
  const formats = new Map<number, NumberFormat>();
  return (style) => {
    const id = formatIds[style] ?? 0;
    const known = formats.get(id);
    if (known !== undefined) return known;
    const format = numberFormatOf(id, codes.get(id));
    formats.set(id, format);
    return format;
  };
}
