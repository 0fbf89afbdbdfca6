// How a service may quote a token in what it answers, and whether it can still be read in what the program says.

/** How a service may quote a text. */
export const ENCODINGS: Record<string, (text: string) => string> = {
  'as it is': (text) => text,
  'in base64': (text) => Buffer.from(text).toString('base64'),
  'in base64, one byte on': (text) => Buffer.from(`x${text}`).toString('base64'),
  'in base64, two bytes on': (text) => Buffer.from(`xy${text}`).toString('base64'),
  'in url-safe base64': (text) => Buffer.from(`Basic ${text}:`).toString('base64url'),
  'in base64 with line breaks': (text) =>
    (
      Buffer.from(text)
        .toString('base64')
        .match(/.{1,64}/g) ?? []
    ).join('\r\n'),
  'in JSON': (text) => JSON.stringify(text),
  'with slashes escaped': (text) => text.replaceAll('\\', '\\\\').replaceAll('/', '\\/'),
  'percent-encoded': (text) => encodeURIComponent(text),
  'in HTML': (text) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
};

/** The text with every escape decoded and every run of base64 too, as someone who looks for the token would read it. */
function readings(text: string): string[] {
  const decoded = [text];
  for (let round = 0; round < 4; round++)
    decoded.push(
      (decoded.at(-1) ?? '')
        .replace(/\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|%([0-9a-f]{2})|&#x([0-9a-f]+);/gi, (_, ...codes) =>
          String.fromCharCode(Number.parseInt(codes.find((code) => typeof code === 'string') ?? '', 16)),
        )
        .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
        .replace(/&(amp|lt|gt|quot);/g, (_, name) => ({ amp: '&', lt: '<', gt: '>', quot: '"' })[String(name)] ?? '')
        .replace(/\\([^a-z0-9])/gi, '$1'),
    );
  const encoded = decoded.flatMap((one) => one.replace(/[\r\n]+/g, '').match(/[\w+/-]{8,}/g) ?? []);
  const fromBase64 = encoded.flatMap((run) =>
    [0, 1, 2, 3].map((skip) => Buffer.from(run.slice(skip), 'base64').toString('latin1')),
  );
  return [...decoded, ...fromBase64];
}

/** The runs of eight characters of the token that can still be read in the text. */
export function windowsLeft(text: string, token: string): string[] {
  const seen = readings(text);
  const windows = Array.from({ length: Math.max(0, token.length - 7) }, (_, at) => token.slice(at, at + 8));
  return windows.filter((window) => seen.some((reading) => reading.includes(window)));
}
