// The sets of tools that `--toolset` chooses from.

/** `read`: without plan_change; `plan`: plan_change and look-ups; `all`. */
export const TOOLSETS = ['read', 'plan', 'all'] as const;

export type Toolset = (typeof TOOLSETS)[number];
