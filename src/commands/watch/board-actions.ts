// The dialogs of the board as a pure state machine. It handles each key in a dialog, and returns
// the work that the key requests. A change is requested only when the user presses Enter on a
// visible question.

import type { Key } from '../../terminal/keys.js';
import type { BoardDialog } from '../../views/board-dialog.js';

/** Work that the board passes to its caller. */
export type BoardRequest =
  /** Shows the possible transitions of these bicycles. */
  | { readonly type: 'offer'; readonly uuids: readonly string[] }
  /** Asks for confirmation of a transition. */
  | { readonly type: 'ask'; readonly uuids: readonly string[]; readonly transition: string }
  /** Runs a transition that the user confirmed. */
  | { readonly type: 'act'; readonly uuids: readonly string[]; readonly transition: string }
  | { readonly type: 'copy'; readonly uuid: string }
  /** Shows the equivalent fleet command. */
  | { readonly type: 'show-act'; readonly uuids: readonly string[]; readonly transition: string }
  | { readonly type: 'show-get'; readonly uuid: string }
  | { readonly type: 'show-list' };

export interface DialogStep {
  readonly dialog: BoardDialog | undefined;
  readonly request?: BoardRequest;
}

const LONGEST_TYPED = 100;

/** Handles a key in a dialog. `drawn` is the dialog that was visible in the last frame. */
export function pressInDialog(
  dialog: BoardDialog,
  key: Key,
  drawn: BoardDialog | undefined,
): DialogStep {
  if (dialog.type === 'text' || key === 'escape') return { dialog: undefined };
  if (dialog.type === 'choose') return pressInChoice(dialog, key);
  return pressInQuestion(dialog, key, drawn);
}

function pressInChoice(dialog: BoardDialog & { type: 'choose' }, key: Key): DialogStep {
  const { uuids, choices, selected } = dialog;
  const last = choices.length - 1;
  if (key === 'up') return { dialog: { ...dialog, selected: Math.max(0, selected - 1) } };
  if (key === 'down')
    return { dialog: { ...dialog, selected: Math.max(0, Math.min(last, selected + 1)) } };
  const transition = choices[selected]?.name;
  if (key === 'q') return { dialog: undefined };
  if (transition === undefined) return { dialog };
  if (key === 'enter') return { dialog: undefined, request: { type: 'ask', uuids, transition } };
  if (key === 'y') return { dialog: undefined, request: { type: 'show-act', uuids, transition } };
  return { dialog };
}

function pressInQuestion(
  dialog: BoardDialog & { type: 'ask' },
  key: Key,
  drawn: BoardDialog | undefined,
): DialogStep {
  const { uuids, transition, proof, typed } = dialog;
  if (key === 'enter') {
    // Keys that the user pressed before the question was visible must not answer it.
    const isDrawn = drawn?.type === 'ask' && drawn.question === dialog.question;
    if (!isDrawn || (proof !== undefined && typed.trim() !== proof)) return { dialog };
    return { dialog: undefined, request: { type: 'act', uuids, transition } };
  }
  if (proof === undefined) {
    if (key === 'y') return { dialog: undefined, request: { type: 'show-act', uuids, transition } };
    return key === 'n' || key === 'q' ? { dialog: undefined } : { dialog };
  }
  if (key === 'backspace')
    return { dialog: { ...dialog, typed: [...typed].slice(0, -1).join('') } };
  // A key whose name is a single character inserts this character. Other keys, such as arrow keys,
  // have longer names and insert nothing.
  if ([...key].length === 1 && typed.length < LONGEST_TYPED)
    return { dialog: { ...dialog, typed: typed + key } };
  return { dialog };
}
