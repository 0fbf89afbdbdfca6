// Escapes text for XML, HTML and SVG.

/** Escapes a string for elements and for double-quoted attributes. Control characters are kept. */
export function escapeMarkup(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/**
 * Returns the first lines of a page that loads nothing and runs no script. `title` is already
 * escaped. The caller adds the content and the end tags.
 */
export function startPage(title: string, style: string): string[] {
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${title}</title><style>${style}</style></head><body>`,
  ];
}
