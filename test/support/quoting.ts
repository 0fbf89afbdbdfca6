// How a service may quote a token in what it answers, and what can still be read of it in what the program says.

/** How a service may quote a text. */
export const ENCODINGS: Record<string, (text: string) => string> = {
  'as it is': (text) => text,
  'in base64': (text) => Buffer.from(text).toString('base64'),
  'in url-safe base64': (text) => Buffer.from(`${text}:`).toString('base64url'),
  'in JSON': (text) => JSON.stringify(text),
  'percent-encoded': (text) => encodeURIComponent(text),
};

/** The runs of eight characters of the token, in any of these spellings, that can still be read in the text. */
export function windowsLeft(text: string, token: string): string[] {
  const spellings = Object.values(ENCODINGS).map((encode) => encode(token));
  const windows = spellings.flatMap((spelling) =>
    Array.from({ length: Math.max(0, spelling.length - 7) }, (_, at) => spelling.slice(at, at + 8)),
  );
  return windows.filter((window) => text.includes(window));
}
