// The sizes of what the map draws, in pixels.

/** Returns the size of a bicycle's mark, which grows with the zoom. */
export function pointPixels(zoom: number): number {
  return Math.max(8, Math.min(22, 8 + (zoom - 9) * 1.5));
}

/** Returns the diameter of a cluster's bubble, which grows with its number of bicycles. */
export function bubblePixels(count: number): number {
  return Math.round(24 + Math.min(40, Math.log10(count) * 8));
}
