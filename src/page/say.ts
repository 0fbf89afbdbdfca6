// Says on the page that something failed.

import { h, render } from 'preact';

export function sayFailure(container: HTMLElement, text: string, error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  render(h('p', { class: 'failure', role: 'alert' }, `${text} ${reason}`), container);
}
