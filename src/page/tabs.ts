// The tabs of the side panel, after the ARIA pattern.

export function openTabs(list: HTMLElement) {
  const tabs = [...list.querySelectorAll<HTMLElement>('[role=tab]')];
  const panelOf = (tab: HTMLElement) => document.getElementById(tab.getAttribute('aria-controls') ?? '');
  const select = (wanted: HTMLElement) => {
    for (const tab of tabs) {
      const isWanted = tab === wanted;
      tab.setAttribute('aria-selected', String(isWanted));
      tab.tabIndex = isWanted ? 0 : -1;
      panelOf(tab)?.classList.toggle('is-shown', isWanted);
    }
  };
  for (const tab of tabs) tab.addEventListener('click', () => select(tab));
  list.addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const shown = tabs.filter((tab) => tab.offsetParent !== null);
    const at = shown.indexOf(document.activeElement as HTMLElement);
    const next = shown[(at + step + shown.length) % shown.length];
    if (next === undefined) return;
    select(next);
    next.focus();
    event.preventDefault();
  });
  return {
    show(name: string) {
      const tab = tabs.find(({ id }) => id === `tab-${name}`);
      if (tab !== undefined && tab.offsetParent !== null) select(tab);
    },
  };
}
