// Dark or light: as the system says, until somebody presses the switch.

type Theme = 'dark' | 'light';

const KEY = 'fleet-theme';

/** Sets the theme; what is returned takes whom to call when the colours of style.css are others. */
export function openTheme(button: HTMLElement): (onChange: () => void) => void {
  const isDark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = read();
  let take = () => {};
  const current = () => chosen ?? (isDark.matches ? 'dark' : 'light');
  const draw = () => {
    document.documentElement.dataset['theme'] = current();
    button.setAttribute('aria-pressed', String(current() === 'dark'));
    take();
  };
  button.addEventListener('click', () => {
    chosen = current() === 'dark' ? 'light' : 'dark';
    write(chosen);
    draw();
  });
  isDark.addEventListener('change', draw);
  draw();
  return (onChange) => {
    take = onChange;
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
