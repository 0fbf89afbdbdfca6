// Describes what can be listed and acted on: its names, its fields and its path.

/** What the document says of fields; what it does not name is left to the service. */
export interface Vocabulary {
  readonly fields: readonly string[];
  /** Fields that hold numbers. */
  readonly numbers: readonly string[];
  /** Fields that hold ISO 8601 times. */
  readonly times: readonly string[];
  /** Fields whose values are words of a list. */
  readonly words: { readonly [field: string]: readonly string[] };
  /** What tables call a field, in lower case: it means the field wherever one is typed. */
  readonly headers?: { readonly [header: string]: string };
}

/** The field that a word means: itself, or what is called so above a table. */
export function fieldOf(
  word: string,
  { fields, headers = {} }: Pick<Vocabulary, 'fields' | 'headers'>,
): string {
  const header = word.toLowerCase();
  return fields.includes(word) || !Object.hasOwn(headers, header)
    ? word
    : (headers[header] ?? word);
}

export interface Resource extends Vocabulary {
  readonly one: string;
  readonly many: string;
  /** Fields to order by that are known to work. */
  readonly orderings: readonly string[];
  /** The field that people know it by. */
  readonly nameField: string;
  /** Where the service lists them, below the base URL. */
  readonly listPath: string;
  /** One of them, with a slash at its end; below it are `actions/`, to which actions are sent, and `transitions/`, their history. */
  path(uuid: string): string;
  /** What shows how one is now, for messages. */
  shownBy(uuid: string): string;
}
