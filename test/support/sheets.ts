// Reads the names and the XML of the sheets of a workbook.

import { unzipSync } from 'fflate';

/** Returns the sheets in the order of the workbook. */
export async function readXlsx(file: Buffer): Promise<{ name: string; xml: string }[]> {
  const parts = unzipSync(file);
  const textOf = (name: string) => Buffer.from(parts[name] ?? []).toString();
  const names = [...textOf('xl/workbook.xml').matchAll(/<sheet [^>]*name="([^"]*)"/g)];
  return names.map(([, name = ''], index) => ({
    name,
    xml: textOf(`xl/worksheets/sheet${index + 1}.xml`),
  }));
}
