// Reads a workbook's shared strings, which its cells refer to.

import { RichText } from './rich-text.js';
import { CELL_BYTES, type MemoryBudget, TEXT_BYTES } from './workbook-limits.js';
import type { OpenPart } from './workbook-parts.js';
import { readXml } from './xml.js';

/** Returns the shared strings. A cell refers to a string by its index. */
export async function readSharedStrings(
  open: OpenPart,
  part: string | undefined,
  budget: MemoryBudget,
): Promise<readonly string[]> {
  const texts: string[] = [];
  const chunks = part === undefined ? undefined : open(part);
  if (chunks === undefined) return texts;
  const richText = new RichText();
  await readXml(chunks, {
    open(element, path) {
      if (isText(path[1]?.name)) richText.open(element, path.slice(2));
    },
    text: (text) => richText.addText(text),
    close(element, path) {
      if (path.length === 1 && isText(element.name)) {
        const text = richText.take();
        budget.use(CELL_BYTES + TEXT_BYTES + 2 * text.length);
        texts.push(text);
        return;
      }
      richText.close(element);
    },
  });
  return texts;
}

function isText(name: string | undefined): boolean {
  return name === 'si';
}
