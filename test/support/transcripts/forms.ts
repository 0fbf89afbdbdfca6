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
 * Returns a new line of output with the placeholders of the old line where their forms still fit,
 * and with the variables of the transcript.
 */
export function keepPlaceholders(old: string | undefined, actual: string, values: Values): string {
  let kept = '';
  let rest = actual;
  for (const { placeholder } of old === undefined ? [] : piecesOf(old, values)) {
    if (placeholder === undefined) continue;
    const pattern = patternOf(placeholder, values);
    const match = new RegExp(`(?<!\\w)${pattern}(?!\\w)`).exec(rest);
    if (match === null) continue;
    if (isNamed(placeholder)) values.set(placeholder, match[0]);
    kept += `${withVariables(rest.slice(0, match.index), values)}<${placeholder}>`;
    rest = rest.slice(match.index + match[0].length);
  }
  return kept + withVariables(rest, values);
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
