// Chooses the output format of the tours and writes the tours.

import { extname } from 'node:path';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { isScreen, writeResult } from '../../list/output-file.js';
import { openResult, printRows } from '../../list/result.js';
import type { Format } from '../../terminal/formats.js';
import { describeVan, JSON_SHAPE, jsonOf, listed, type Rounds, rowShape, rowsOf } from './plan.js';

/** The output formats for tours: the list formats, and drawings. */
export type RoundForm = Format | 'gpx' | 'html';

/**
 * Chooses the output format before any request is sent. Throws a usage error when the user combines
 * mutually exclusive flags.
 */
export async function chooseRoundForm(context: Context): Promise<RoundForm> {
  const { file, picture, jq, columns, excel } = context.flags;
  if (jq !== undefined) return 'json';
  const extension = extname(file ?? '').toLowerCase();
  const ofFile = FORMS_BY_EXTENSION[extension];
  const asked = context.flags.output;
  if (picture === undefined && ofFile !== undefined && asked !== undefined)
    throw usageError(
      `--file "${file}" has an extension that does not match ${asked}`,
      'remove -o, or choose another extension',
    );
  const form = (picture as RoundForm | undefined) ?? ofFile;
  const chosen = form ?? (await context.settings()).output.value;
  if (columns !== undefined && !['table', 'csv', 'tsv'].includes(chosen))
    throw usageError(`--columns works only with table, csv and tsv, not with ${chosen}`);
  if (excel === true && chosen !== 'csv')
    throw usageError(`--excel works only with csv, not with ${chosen}`, 'add -o csv');
  if (chosen === 'xlsx' && file === undefined)
    throw usageError('-o xlsx needs --file', 'add --file PATH, such as --file rounds.xlsx');
  if ((chosen === 'html' || chosen === 'gpx') && isScreen(context))
    throw usageError(
      `-o ${chosen} output cannot be printed to a terminal`,
      `pass --file rounds.${chosen}, or redirect the output`,
    );
  return chosen;
}

const FORMS_BY_EXTENSION: { readonly [extension: string]: RoundForm } = {
  '.gpx': 'gpx',
  '.html': 'html',
  '.htm': 'html',
};

/** Writes the tours in the chosen format. */
export async function writeRounds(
  context: Context,
  form: RoundForm,
  rounds: Rounds,
): Promise<void> {
  switch (form) {
    case 'json':
    case 'yaml':
      return printRows(context, JSON_SHAPE, [listed(jsonOf(rounds))], form);
    case 'xlsx': {
      const { drawRoundsWorkbook } = await import('./workbook.js');
      return writeResult(context, await drawRoundsWorkbook(rounds));
    }
    case 'gpx': {
      const { drawGpx } = await import('./gpx.js');
      return writeResult(context, drawGpx(rounds));
    }
    case 'geojson': {
      const { drawTourGeojson } = await import('./geojson.js');
      return writeResult(context, drawTourGeojson(rounds));
    }
    case 'html': {
      const { drawTourPage } = await import('./page.js');
      return writeResult(context, drawTourPage(rounds));
    }
    default:
      return writeRows(context, form, rounds);
  }
}

async function writeRows(context: Context, form: Format, rounds: Rounds): Promise<void> {
  const isDrawn = form === 'table' && isScreen(context);
  if (isDrawn) {
    const { drawTours } = await import('./draw.js');
    await context.io.stdout.write(await drawTours(context, rounds));
  }
  // On a terminal, the table does not contain the omitted bicycles, because the error below the
  // table lists them.
  const hasLeftOut = form !== 'uuid' && !isDrawn;
  const rows = rowsOf(rounds).filter(({ van }) => hasLeftOut || van !== null);
  const result = await openResult(context, rowShape(rounds, hasLeftOut), form);
  await result.write(rows.map(listed));
  const lines = rounds.vans.map(describeVan);
  await result.end(lines.length === 0 ? ['No bicycle is selected, so there is no tour.'] : lines);
}
