// The placeholders of transcripts: values that differ between runs, and the form of each.

/** The form of each placeholder. None of them matches every text. */
export const FORMS: { readonly [name: string]: string } = {
  age: '(?:just now|\\d+ (?:s|min|h|d) ago|in \\d+ (?:s|min|h|d))',
  bytes: '\\d+(?:\\.\\d+)? (?:B|KB|MB|GB)',
  date: '\\d{4}-\\d\\d-\\d\\d',
  duration: '\\d+(?:\\.\\d+)? (?:ms|s|min|h|d)(?: \\d+ (?:s|min|h))?',
  hash: '[0-9a-f]{8,64}',
  milliseconds: '\\d+ ms',
  number: '\\d+(?:\\.\\d+)?',
  pid: '\\d{1,7}',
  port: '\\d{4,5}',
  time: '\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?)?',
  timestamp:
    '\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?)?(?:Z|[+-]\\d\\d:\\d\\d)?',
  token: '[\\w-]+\\.[\\w-]+\\.[\\w-]+',
  url: 'http://127\\.0\\.0\\.1:\\d+',
  uuid: '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  version: '\\d+\\.\\d+\\.\\d+(?:-[\\w.]+)?',
};

/**
 * The values of named placeholders (`<uuid bike>`) and of the variables of the transcript
 * (`<service>`, `<push>`, `<home>`), by the text between the brackets.
 */
export type Values = Map<string, string>;

const PLACEHOLDER = /<([a-z]+(?: [\w-]+)?)>/g;

/** Returns the pattern of a placeholder, or undefined for other text in brackets. */
function patternOf(placeholder: string, values: Values): string | undefined {
  const value = values.get(placeholder);
  return value === undefined ? FORMS[placeholder.split(' ', 1)[0] ?? ''] : escapePattern(value);
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}

interface Piece {
  /** The placeholder without brackets; undefined for literal text. */
  placeholder?: string;
  text: string;
}

function piecesOf(line: string, values: Values): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of line.matchAll(PLACEHOLDER)) {
    const [text, placeholder = ''] = match;
    if (patternOf(placeholder, values) === undefined) continue;
    pieces.push({ text: line.slice(end, match.index) }, { text, placeholder });
    end = match.index + text.length;
  }
  return [...pieces, { text: line.slice(end) }];
}

const isNamed = (placeholder: string) => placeholder.includes(' ');

/** A regular expression for a text, and the placeholder of each of its groups. */
interface Pattern {
  source: string;
  groups: string[];
}

/** Returns the pattern of a text with placeholders. */
export function patternFor(expected: string, values: Values): Pattern {
  const groups: string[] = [];
  let source = '';
  for (const { text, placeholder } of piecesOf(expected, values)) {
    if (placeholder === undefined) source += escapePattern(text);
    else if (isNamed(placeholder) && !values.has(placeholder) && groups.includes(placeholder))
      source += `\\${groups.indexOf(placeholder) + 1}`;
    else {
      groups.push(placeholder);
      source += `(${patternOf(placeholder, values)})`;
    }
  }
  return { source, groups };
}

/**
 * Returns whether a line of output has the expected form. Stores the values of placeholders that
 * appear for the first time with their name.
 */
export function fits(expected: string, actual: string, values: Values): boolean {
  if (expected === actual) return true;
  const { source, groups } = patternFor(expected, values);
  const match = new RegExp(`^${source}$`).exec(actual);
  if (match === null) return false;
  for (const [index, placeholder] of groups.entries())
    if (isNamed(placeholder)) values.set(placeholder, match[index + 1] ?? '');
  return true;
}

/**
 * Returns a new line of output with the placeholders of the old line, and with the variables of the
 * transcript. A placeholder replaces a value only when the same word stands before or after it as in
 * the old line. A value that the old line contains literally stays literal, because the transcript
 * checks it.
 */
export function keepPlaceholders(old: string | undefined, actual: string, values: Values): string {
  const pieces = old === undefined ? [] : piecesOf(old, values);
  const literals = pieces.filter(({ placeholder }) => placeholder === undefined);
  let kept = '';
  let rest = actual;
  for (const [index, { placeholder }] of pieces.entries()) {
    if (placeholder === undefined) continue;
    const before = pieces[index - 1]?.text ?? '';
    const after = pieces[index + 1]?.text ?? '';
    const isLast = index + 2 === pieces.length;
    const pattern = new RegExp(`(?<!\\w)${patternOf(placeholder, values)}(?!\\w)`, 'g');
    const found = Array.from(rest.matchAll(pattern))
      .filter(([value]) => !literals.some(({ text }) => containsWord(text, value)))
      .map((match) => ({
        match,
        neighbours:
          Number(endsAlike(before, rest.slice(0, match.index))) +
          Number(beginsAlike(after, rest.slice(match.index + match[0].length), isLast)),
      }))
      .filter(({ neighbours }) => neighbours > 0)
      .sort((one, other) => other.neighbours - one.neighbours);
    const match = found[0]?.match;
    if (match === undefined) continue;
    if (isNamed(placeholder)) values.set(placeholder, match[0]);
    kept += `${withVariables(rest.slice(0, match.index), values)}<${placeholder}>`;
    rest = rest.slice(match.index + match[0].length);
  }
  return kept + withVariables(rest, values);
}

function containsWord(text: string, word: string): boolean {
  return new RegExp(`(?<!\\w)${escapePattern(word)}(?!\\w)`).test(text);
}

const LAST_WORD = /\w+\W*$/;
const FIRST_WORD = /^\W*\w+/;

/** Whether both texts end with the same word. Without a word, both must be equal. */
function endsAlike(old: string, actual: string): boolean {
  const word = LAST_WORD.exec(old)?.[0];
  if (word === undefined) return withSingleSpaces(old) === withSingleSpaces(actual);
  return withSingleSpaces(word) === withSingleSpaces(LAST_WORD.exec(actual)?.[0] ?? '');
}

/**
 * Whether both texts begin with the same word. Without a word, the new text must begin with the old
 * text, and must equal it at the end of the line.
 */
function beginsAlike(old: string, actual: string, isLast: boolean): boolean {
  const word = FIRST_WORD.exec(old)?.[0];
  if (word !== undefined)
    return withSingleSpaces(word) === withSingleSpaces(FIRST_WORD.exec(actual)?.[0] ?? '');
  return isLast
    ? withSingleSpaces(old) === withSingleSpaces(actual)
    : withSingleSpaces(actual).startsWith(withSingleSpaces(old));
}

function withSingleSpaces(text: string): string {
  return text.replace(/\s+/g, ' ');
}

/**
 * Returns the texts in brackets that look like placeholders of a line, but are neither a form nor a
 * variable, and do not appear in the output.
 */
export function unknownPlaceholders(
  expected: string,
  actual: readonly string[],
  values: Values,
): string[] {
  return Array.from(expected.matchAll(PLACEHOLDER))
    .filter(([text, placeholder = '']) => {
      const isKnown = patternOf(placeholder, values) !== undefined;
      return !isKnown && !actual.some((line) => line.includes(text));
    })
    .map(([text]) => text);
}

/**
 * Explains why a line of output does not fit an expected line whose literal text it contains: names
 * each value that does not have the form of its placeholder.
 */
export function explainForms(
  expected: string,
  actual: readonly string[],
  values: Values,
): string[] {
  const pieces = piecesOf(expected, values);
  const placeholders = pieces.flatMap(({ placeholder }) => placeholder ?? []);
  if (placeholders.length === 0) return [];
  const loose = pieces
    .map(({ placeholder, text }) => (placeholder === undefined ? escapePattern(text) : '(.+?)'))
    .join('');
  for (const line of actual) {
    const found = new RegExp(`^${loose}$`).exec(line);
    const reasons = placeholders.flatMap((placeholder, index) =>
      explainForm(placeholder, found?.[index + 1], values),
    );
    if (reasons.length > 0) return reasons;
  }
  return [];
}

function explainForm(placeholder: string, value: string | undefined, values: Values): string[] {
  const pattern = patternOf(placeholder, values);
  if (value === undefined || new RegExp(`^${pattern}$`).test(value)) return [];
  const known = values.get(placeholder);
  return known === undefined
    ? [`${value} does not have the form of <${placeholder}>: ${pattern}`]
    : [`${value} differs from the value of <${placeholder}>: ${known}`];
}

/** Values that differ in every run, by the words around them. An update writes their placeholders. */
const AUTOMATIC: readonly (readonly [form: string, before: string])[] = [
  ['uuid', '\\brequest '],
  ['uuid', '"request_id":"'],
  ['number', '"milliseconds":'],
  ['number', '"(?:seconds|readings)":'],
  ['duration', '\\b(?:watched|mirrored|listened for alerts|followed alerts of \\S+) for '],
  [
    'duration',
    '\\b(?:done|now|refused|failed|unknown|skipped|unchanged|changed|gone|journal\\)) in ',
  ],
];

/** Replaces the values of the transcript's variables, and its tokens, by their names. */
function withVariables(text: string, values: Values): string {
  let replaced = text;
  for (const [form, before] of AUTOMATIC)
    replaced = replaced.replace(new RegExp(`(?<=${before})${FORMS[form]}`, 'g'), `<${form}>`);
  for (const [name, value] of values)
    if (isReplaced(name)) replaced = replaced.replaceAll(value, `<${name}>`);
  return replaced;
}

/** Other named values may also be a part of a text that always reads the same. */
function isReplaced(placeholder: string): boolean {
  return !isNamed(placeholder) || placeholder.startsWith('token ');
}

/** Inserts the values of variables and of named placeholders into a command. */
export function insertValues(command: string, values: Values): string {
  return command.replace(PLACEHOLDER, (text, placeholder: string) => {
    const value = values.get(placeholder);
    if (value === undefined && isNamed(placeholder) && patternOf(placeholder, values) !== undefined)
      throw new Error(`${text} has no value: it must appear in an earlier output`);
    return value ?? text;
  });
}
