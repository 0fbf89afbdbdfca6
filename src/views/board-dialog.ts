// The dialogs of the board: the transitions to choose from, the question before a change, and text
// to copy.

import { cut, pad, widthOf, wrap } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import type { Paint } from '../terminal/colour.js';
import { count } from '../terminal/count.js';

/** A transition, and the number of bicycles that allow it. */
export interface TransitionChoice {
  readonly name: string;
  readonly allowedCount: number;
}

export type BoardDialog =
  | {
      readonly type: 'choose';
      readonly uuids: readonly string[];
      readonly choices: readonly TransitionChoice[];
      readonly selected: number;
    }
  | {
      readonly type: 'ask';
      readonly uuids: readonly string[];
      readonly transition: string;
      /**
       * A confirmation question, which contains the number of bicycles and the name of the
       * transition.
       */
      readonly question: string;
      /** The text that must be typed before Enter; undefined when Enter alone is enough. */
      readonly proof: string | undefined;
      readonly typed: string;
    }
  | { readonly type: 'text'; readonly title: string; readonly text: string };

/**
 * Returns at most `height` lines of a dialog. The last line shows the keys. When some lines do not
 * fit, the first line shows how many were omitted.
 */
export function dialogLines(
  dialog: BoardDialog,
  { width, height, paint }: { width: number; height: number; paint: Paint },
): string[] {
  const { title, body, keys, anchor = 0 } = contentOf(dialog, width, paint);
  const rows = Math.max(0, height - 2);
  const first = Math.max(0, Math.min(anchor - rows + 1, body.length - rows));
  const visible = body.slice(first, first + rows);
  const hidden = body.length - visible.length;
  const sign = hidden === 0 ? '' : ` (${hidden} more lines)`;
  return [paint.bold(cut(`${title}${sign}`, width)), ...visible, paint.dim(cut(keys, width))];
}

interface Content {
  readonly title: string;
  readonly body: readonly string[];
  readonly keys: string;
  /** The index of the line that must stay visible when the dialog is scrolled. */
  readonly anchor?: number;
}

function contentOf(dialog: BoardDialog, width: number, paint: Paint): Content {
  const fold = (text: string) => wrap(clean(text), width);
  if (dialog.type === 'text')
    return { title: dialog.title, body: fold(dialog.text), keys: 'Any key: back' };
  if (dialog.type === 'ask') {
    const { question, proof, typed } = dialog;
    const input = proof === undefined ? [] : [cut(`> ${clean(typed)}_`, width)];
    const body = [...fold(question), ...input];
    const keys = proof === undefined ? 'Enter: yes' : 'Enter: go on';
    return {
      title: 'CHANGE',
      body,
      keys: `${keys}   Esc: no${proof === undefined ? '   y: command' : ''}`,
      anchor: body.length - 1,
    };
  }
  const { uuids, choices, selected } = dialog;
  const nameColumns = Math.max(0, ...choices.map(({ name }) => widthOf(name)));
  const body = choices.map(({ name, allowedCount }, index) => {
    const some =
      allowedCount === uuids.length ? '' : `  allowed for ${allowedCount} of ${uuids.length}`;
    const line = cut(`${index === selected ? '>' : ' '} ${pad(name, nameColumns)}${some}`, width);
    return index === selected ? paint.inverse(line) : line;
  });
  return {
    title: `TRANSITION for ${count(uuids.length, 'bicycle')}`,
    body: body.length === 0 ? fold('No known transition starts in the present states.') : body,
    keys: '↑↓: choose   Enter: ask   y: command   Esc: back',
    anchor: selected,
  };
}
