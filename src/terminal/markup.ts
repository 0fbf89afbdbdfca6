// Escapes texts for XML, HTML and SVG.

/** Escapes a text for elements and for attributes in double quotes. Control characters stay. */
export function escapeMarkup(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
