// Dark or light: as the system says, until somebody presses the switch.

import type { Theme } from './looks.js';

export interface ThemeSwitch {
  current(): Theme;
  onChange(take: (theme: Theme) => void): void;
}

const KEY = 'fleet-theme';

export function openTheme(button: HTMLElement): ThemeSwitch {
  const isDark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = read();
  let take = (_theme: Theme) => {};
  const current = () => chosen ?? (isDark.matches ? 'dark' : 'light');
  const draw = () => {
    document.documentElement.dataset['theme'] = current();
    button.setAttribute('aria-pressed', String(current() === 'dark'));
    take(current());
  };
  button.addEventListener('click', () => {
    chosen = current() === 'dark' ? 'light' : 'dark';
    write(chosen);
    draw();
  });
  isDark.addEventListener('change', draw);
  draw();
  return {
    current,
    onChange(taker) {
      take = taker;
    },
  };
}

/** A page from a disk may have no storage. */
function read(): Theme | undefined {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === 'dark' || kept === 'light' ? kept : undefined;
  } catch {
    return undefined;
  }
}

function write(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It lasts as long as the page then.
  }
}
