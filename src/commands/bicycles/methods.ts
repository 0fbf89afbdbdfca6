// The methods by which a bicycle can be edited; apart from the action, so that help needs not load it.

export const EDIT_METHODS = ['PUT', 'PATCH'] as const;

export type EditMethod = (typeof EDIT_METHODS)[number];
