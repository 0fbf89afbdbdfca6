// The supported shells, and the hidden command that their completion scripts call.

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
export type Shell = (typeof SHELLS)[number];

/** The hidden command. Only completion scripts use it. */
export const CALLBACK = '__complete';
