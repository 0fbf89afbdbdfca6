// Dark or light: as the system says, until somebody presses the switch.

type Theme = 'dark' | 'light';

const KEY = 'fleet-theme';

/** Sets the theme, and says when the colours of style.css are others. */
export function openTheme(button: HTMLElement, onChange: () => void): void {
  const isDark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = read();
  const current = () => chosen ?? (isDark.matches ? 'dark' : 'light');
  const set = () => {
    document.documentElement.dataset['theme'] = current();
    button.setAttribute('aria-pressed', String(current() === 'dark'));
  };
  const change = () => {
    set();
    onChange();
  };
  button.addEventListener('click', () => {
    chosen = current() === 'dark' ? 'light' : 'dark';
    write(chosen);
    change();
  });
  isDark.addEventListener('change', change);
  set();
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
