// Parses the arguments of `act`: the bicycles or alerts, followed by the transition or action.

import { wholeUuid } from '../api/links.js';
import type { Resource } from '../api/resource.js';
import { nearest, unknownWord } from '../cli/nearest.js';
import { notText } from '../cli/options.js';
import { type FleetError, usageError } from '../errors.js';
import { type InputFlags, readInputSource, refuseFileNames } from './flags.js';
import type { InputSource } from './open.js';

const STDIN = '-';

/** The transitions or actions that a command accepts as its last argument. */
export interface Verbs {
  /** The noun in messages: `transition` or `action`. */
  kind: string;
  known: readonly string[];
  /** The transitions that are hard to undo. The user must type a word to confirm them. */
  grave?: readonly string[];
  /** Whether unknown transitions are sent to the service (`--allow-unknown`). */
  mayBeUnknown: boolean;
}

/**
 * Parses the arguments `<bicycle...> <transition>`. Returns the transition. Also returns either the
 * bicycles from the command line, or the input from which to read the bicycles (such as stdin).
 * Throws a FleetError of kind `usage` for any other arguments, before fleet asks the user or sends
 * anything.
 */
export function readWords(
  words: readonly string[],
  { one, many }: Resource,
  { kind, known, mayBeUnknown, grave }: Verbs,
  flags: InputFlags,
): { targets: readonly string[] | InputSource; name: string } {
  const name = words.at(-1) ?? '';
  const texts = words.slice(0, -1);
  const isUnknown = !mayBeUnknown && !known.includes(name);
  const isOnlyBicycle =
    isUnknown &&
    texts.length === 0 &&
    nearest(name, known) === undefined &&
    flags.from === undefined;
  const first = texts.find((text) => known.includes(text));
  const isOrderWrong = !known.includes(name) && nearest(name, known) === undefined;
  if (first !== undefined && isOrderWrong && !mayBeUnknown)
    throw wrongOrder(words, first, kind, many);
  if (name === STDIN || wholeUuid(name) !== undefined || isOnlyBicycle)
    throw usageError(
      `the ${kind} is missing: it comes last, after the ${many}`,
      `${kind}s: ${known.join(', ')}`,
    );
  if (isUnknown) throw unknownWord(kind, name, known, grave);
  const isDash = texts.includes(STDIN);
  if (isDash && texts.length > 1)
    throw usageError(
      '- cannot be combined with other arguments',
      `pass the ${many} as arguments, or write all of them to stdin`,
    );
  if (flags.from !== undefined && !isDash && texts.length > 0)
    throw usageError(
      '--from cannot be combined with other arguments',
      `pass the ${many} as arguments, or put all of them into the file`,
    );
  const source = readInputSource(flags, isDash);
  if (source !== undefined) return { targets: source, name };
  if (texts.length === 0)
    throw usageError(
      `no ${one} given for "${name}"`,
      `pass a UUID before the ${kind}, as in "fleet ${many} act UUID ${name}", or pass - to read UUIDs from stdin`,
    );
  refuseFileNames(texts);
  return { targets: texts, name };
}

/** Returns the error for arguments in which the transition or action is not at the end. */
function wrongOrder(
  words: readonly string[],
  verb: string,
  kind: string,
  many: string,
): FleetError {
  const targets = words.filter((word) => word !== verb).map(quoteWord);
  return usageError(
    `the ${kind} "${verb}" must come last, after the ${many}`,
    `did you mean: fleet ${many} act ${[...targets, verb].join(' ')}`,
  );
}

/** Quotes an argument for a shell, if necessary. */
function quoteWord(word: string): string {
  return /^[\w.:/@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * Parses the `--field NAME=VALUE` flags. Returns the fields for the request body; every value is a
 * string. Throws a FleetError of kind `usage` for an invalid flag.
 */
export function readFields(texts: readonly string[] = []): { readonly [name: string]: string } {
  const fields = new Map<string, string>();
  for (const text of texts) {
    const at = text.indexOf('=');
    const name = text.slice(0, at).trim();
    if (at === -1 || name === '') throw usageError(`--field must be NAME=VALUE${notText(text)}`);
    if (name === 'type')
      throw usageError(
        '--field cannot set the type: the action already sets it',
        'put the action at the end of the command line',
      );
    if (fields.has(name)) throw usageError(`--field ${name} is given twice`);
    // Users may write `--field dry_run=true` by mistake. A service that ignores this field would
    // really carry out the action. Its response would look like the response of a dry run.
    if (name === 'dry_run')
      throw usageError(
        '--field cannot set dry_run',
        '--dry-run prints the requests and sends nothing',
      );
    fields.set(name, text.slice(at + 1));
  }
  return Object.fromEntries(fields);
}
