// The sizes of what the map draws, in pixels.

/** Returns the size of the mark of one bicycle. It grows with the zoom. */
export function pointPixels(zoom: number): number {
  return Math.max(8, Math.min(22, 8 + (zoom - 9) * 1.5));
}

/** Returns the diameter of the bubble of a cluster. It grows with the number in it. */
export function bubblePixels(count: number): number {
  return Math.round(24 + Math.min(40, Math.log10(count) * 8));
}
