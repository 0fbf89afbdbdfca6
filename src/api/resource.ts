// Describes a resource that can be listed and acted on: its names, fields and path.

/** The fields that the interface documents. A service may have more. */
export interface Vocabulary {
  readonly fields: readonly string[];
  /** Fields that hold numbers. */
  readonly numbers: readonly string[];
  /** Fields that hold ISO 8601 times. */
  readonly times: readonly string[];
  /** Fields with a fixed list of values. */
  readonly words: { readonly [field: string]: readonly string[] };
  /**
   * Maps the column headers of tables, in lower case, to fields. A user can type a column header
   * instead of a field name.
   */
  readonly headers?: { readonly [header: string]: string };
}

/**
 * Returns the field that a typed word refers to. The word is a field name or the column header of a
 * table.
 */
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
  /** Fields that the ordering parameter accepts. */
  readonly orderings: readonly string[];
  /** The field that people use as a name. */
  readonly nameField: string;
  /** The path of the list below the base URL. */
  readonly listPath: string;
  /**
   * Returns the path of one resource, with a final slash. Its actions are at `actions/` below this
   * path, and its history is at `transitions/`.
   */
  path(uuid: string): string;
  /**
   * Returns the commands that show the current state of one bicycle or alert. Messages suggest
   * them.
   */
  shownBy(uuid: string): string;
}
