// The sets of tools that `--toolset` chooses from.

/**
 * `read` has all tools except plan_change. `plan` has plan_change and the tools to look things up.
 * `all` has every tool.
 */
export const TOOLSETS = ['read', 'plan', 'all'] as const;

export type Toolset = (typeof TOOLSETS)[number];
