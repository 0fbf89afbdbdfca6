// The shells that can be completed in, and the hidden command that their scripts call back.

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
export type Shell = (typeof SHELLS)[number];

/** Nobody types it. */
export const CALLBACK = '__complete';
