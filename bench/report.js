// Prints the tables of the bench: one row as soon as it is measured.

/** The columns with their widths. A wider cell moves the following cells. */
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

function verdictOf(met) {
  if (met === undefined) return '';
  return met ? 'met' : 'NOT met';
}

function printCells(columns, cells) {
  const widths = Object.values(columns);
  const line = cells.map((cell, column) => cell.padEnd(widths[column])).join('  ');
  console.log(line.trimEnd());
}
