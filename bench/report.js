// Prints the tables of the bench: one row as soon as it is measured.

import { median } from './measure.js';

/** The columns with their widths. A wider cell moves the following cells. */
const PAIR_COLUMNS = { what: 64, figure: 16, other: 16, ratio: 5, range: 14, pairs: 5 };
const GOAL_COLUMNS = { what: 64, figure: 32, peer: 44, ratio: 5, goal: 7, verdict: 7 };

export function printGoalHeader() {
  printCells(GOAL_COLUMNS, ['what', 'figure', 'peer', 'ratio', 'goal', '']);
}

/** @param {import('./measure.js').Row} row */
export function printGoalRow({ what, figure, peer, ratio, most, met, runs }) {
  printCells(GOAL_COLUMNS, [
    what,
    runs === undefined ? figure : `${figure} (${runs === 1 ? 'one run' : `median of ${runs}`})`,
    peer,
    ratio === undefined ? '-' : ratio.toFixed(2),
    most === undefined ? '-' : `<= ${most}`,
    verdictOf(met),
  ]);
}

export function printPairHeader() {
  const names = ['what', 'this build', 'the other build', 'ratio', 'range', 'pairs'];
  printCells(PAIR_COLUMNS, names);
}

/** Prints the median of the ratios, and their range. @param {import('./against.js').PairRow} row */
export function printPairRow({ what, figure, otherFigure, ratios }) {
  const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  const pairs = String(ratios.length);
  const ratio = median(ratios).toFixed(2);
  printCells(PAIR_COLUMNS, [what, figure, otherFigure, ratio, range, pairs]);
}

function verdictOf(met) {
  if (met === undefined) return '';
  return met ? 'met' : 'NOT met';
}

function printCells(columns, cells) {
  const widths = Object.values(columns);
  const line = cells.map((cell, column) => cell.padEnd(widths[column])).join('  ');
  console.log(line.trimEnd());
}
