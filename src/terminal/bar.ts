// A horizontal bar of block characters, exact to an eighth of a column.

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A bar that fills the part, from 0 to 1, of so many columns. */
export function drawBar(part: number, columns: number): string {
  const eighths = Math.round(part * columns * 8);
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}
