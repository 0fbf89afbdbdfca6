// Word lists of the flags of `fleet bicycles`, apart from the actions so that help need not load them.

/** What every command that takes a bicycle says of it. */
export const BICYCLE_ARGUMENT =
  'its UUID, the first digits of it (4 or more), or its exact name, serial number or bleid';

/** The methods by which a bicycle can be edited. */
export const EDIT_METHODS = ['PUT', 'PATCH'] as const;
export type EditMethod = (typeof EDIT_METHODS)[number];

/** What an empty cell of a file does to its field. */
export const EMPTY_CELL_CHOICES = ['keep', 'clear'] as const;
export type EmptyCellChoice = (typeof EMPTY_CELL_CHOICES)[number];

/** What `stats` can group by besides fields. */
export const STATS_GROUPS = ['state', 'charge', 'silence', 'model', 'organization'] as const;
