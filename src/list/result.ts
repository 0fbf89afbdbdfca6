// Writes the result of a command to stdout or a file: in the chosen format, or filtered by jq.

import { headingOf } from '../api/headings.js';
import type { Context } from '../context.js';
import { usageError } from '../errors.js';
import { inBatches } from '../terminal/batches.js';
import { excelLocale } from '../terminal/formats/excel-locale.js';
import { type Format, type ListedItem, openRenderer, type Shape } from '../terminal/formats.js';
import { type Jq, writeResults } from '../terminal/jq/results.js';
import { forScreen } from '../terminal/marks.js';
import { isScreen, openTarget } from './output-file.js';
import { writeFooter } from './write-footer.js';

export interface Result<T> {
  /** Writes rows. Resolves when the output accepts more. */
  write(rows: readonly ListedItem<T>[]): Promise<void>;
  /**
   * Writes the remaining output. Then prints the notices of the output format and the given lines
   * on stderr.
   */
  end(footer?: readonly string[]): Promise<void>;
}

/** Prints a complete set of rows, in the same formats as `openResult`. */
export async function printRows<T>(
  context: Context,
  shape: Shape<T>,
  rows: readonly ListedItem<T>[],
  format?: Format,
): Promise<void> {
  const result = await openResult(context, shape, format);
  await result.write(rows);
  await result.end();
}

/**
 * The maximum number of items, and of their characters, that are rendered at once. Rendering a
 * whole page at once could need too much memory.
 */
const AT_ONCE = { items: 1000, characters: 2 ** 20 };

/**
 * Opens the result of a command. The format comes from the argument, from `--json` or `-o`, or from
 * the settings. With `--jq`, the result is filtered.
 */
export async function openResult<T>(
  context: Context,
  shape: Shape<T>,
  format?: Format,
): Promise<Result<T>> {
  const jq = await context.jq();
  if (jq !== undefined) return openFiltered(context, shape, jq);
  const { io, flags } = context;
  const isDrawn = isScreen(context);
  const chosen = format ?? (await context.settings()).output.value;
  if (chosen === 'xlsx' && flags.file === undefined)
    throw usageError('-o xlsx needs --file', 'add --file PATH, such as --file fleet.xlsx');
  if (flags.excel === true && chosen !== 'csv')
    throw usageError(`--excel works only with csv, not with ${chosen}`, 'add -o csv');
  const target = await openTarget(context);
  const renderer = await openRenderer(chosen, shape, {
    ...(flags.columns === undefined ? {} : { columns: flags.columns }),
    isWhole: flags.wide === true || flags.truncate === false,
    hasHeader: flags.headers !== false,
    headingOf: flags.headings === true ? headingOf : undefined,
    excel: flags.excel === true ? excelLocale(io.env) : undefined,
    timezone: flags.timezone,
    terminal: isDrawn,
    width: flags.wide === true || !isDrawn ? undefined : io.stdout.width(),
    // FORCE_COLOR turns colours on for a pipe, but not for a file.
    colorLevel: flags.file === undefined ? io.stdout.colorLevel : 0,
    now: context.clock.wallMs(),
  });
  let beginning = renderer.begin?.() ?? '';
  let hasWritten = false;
  const write = async (text: string) => {
    const whole = beginning + text;
    beginning = '';
    if (whole === '') return;
    hasWritten = true;
    await target.write(chosen === 'table' && isDrawn ? forScreen(whole, io.stdout) : whole);
  };
  return {
    async write(rows) {
      for (const batch of inBatches(rows, ({ json }) => json.length, AT_ONCE))
        await write(renderer.rows(batch));
    },
    async end(footer = []) {
      await write(renderer.end?.() ?? '');
      if (renderer.finish !== undefined) await target.write(await renderer.finish());
      await target.end();
      await writeFooter(
        context,
        [...footer, ...(renderer.notices?.() ?? [])],
        hasWritten && isDrawn,
      );
    },
  };
}

/**
 * Opens a result that filters the JSON of `--json` with jq. Normally collects a list and passes it
 * as one array. If the program handles single items, or with `-o jsonl`, passes one item at a time.
 */
async function openFiltered<T>(context: Context, shape: Shape<T>, jq: Jq): Promise<Result<T>> {
  const { flags } = context;
  const isLines = flags.output === 'jsonl' || shape.single === true;
  const runRows = isLines ? jq.run : jq.runItems;
  const items: string[] = [];
  const target = await openTarget(context);
  return {
    async write(rows) {
      const texts = rows.map(({ json }) => json);
      if (runRows !== undefined) await writeResults(await runRows(texts), target.write);
      else for (const text of texts) items.push(text);
    },
    async end(footer = []) {
      if (runRows === undefined)
        await writeResults(await jq.run([`[${items.join(',\n')}]`]), target.write);
      await target.end();
      await writeFooter(context, footer, isScreen(context));
    },
  };
}
