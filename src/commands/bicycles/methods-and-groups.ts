// The words that the flags of `fleet bicycles` accept. They are in a separate file, so that
// `--help` does not load the code of the commands.

/** The description of the bicycle argument, which is the same in all commands. */
export const BICYCLE_ARGUMENT =
  'its UUID, the first digits of it (4 or more), or its name, serial number or bleid, or a part of one';

/** The HTTP methods for editing a bicycle. */
export const EDIT_METHODS = ['PUT', 'PATCH'] as const;
export type EditMethod = (typeof EDIT_METHODS)[number];

/** Whether an empty cell in a file keeps or clears the current value of its field. */
export const EMPTY_CELL_CHOICES = ['keep', 'clear'] as const;
export type EmptyCellChoice = (typeof EMPTY_CELL_CHOICES)[number];

/** The words that `stats` can group by, in addition to field names. */
export const STATS_GROUPS = ['state', 'charge', 'silence', 'model', 'organization'] as const;
