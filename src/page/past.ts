// The time slider: shows the fleet at a moment that a mirror recorded.

import { byId, showDate } from './dom.js';
import { askFleet, type Following } from './live.js';
import type { Payload } from './payload.js';

export interface SliderOptions {
  readonly fromMs: number;
  readonly following: Following;
  onPast(payload: Payload): void;
}

const MINUTE_MS = 60_000;
/** How long a hand rests before the fleet of that moment is asked for. */
const REST_MS = 150;

export function openSlider({ fromMs, following, onPast }: SliderOptions): void {
  const slider = byId('past-time') as HTMLInputElement;
  const sign = byId('past-at');
  const live = byId('past-live');
  byId('past').hidden = false;
  let asked = new AbortController();
  let rest = 0;
  let isPast = false;
  const say = (text: string) => {
    sign.textContent = text;
    slider.setAttribute('aria-valuetext', text);
  };
  const span = () => {
    slider.min = String(Math.floor(fromMs / MINUTE_MS));
    slider.max = String(Math.ceil(Date.now() / MINUTE_MS));
  };
  const now = () => {
    clearTimeout(rest);
    asked.abort();
    span();
    slider.value = slider.max;
    live.setAttribute('aria-pressed', 'true');
    document.documentElement.classList.remove('is-past');
    say('now');
    if (isPast) following.resume();
    isPast = false;
  };
  const go = async (atMs: number) => {
    const { signal } = asked;
    try {
      onPast(await askFleet<Payload>(`past?at=${atMs}`, signal));
    } catch {
      // Aborted where another moment is asked for meanwhile.
      if (!signal.aborted) say('the past cannot be read');
    }
  };
  slider.addEventListener('input', () => {
    clearTimeout(rest);
    asked.abort();
    asked = new AbortController();
    if (slider.value === slider.max) return now();
    const atMs = Math.max(fromMs, Number(slider.value) * MINUTE_MS);
    if (!isPast) following.pause();
    isPast = true;
    live.setAttribute('aria-pressed', 'false');
    document.documentElement.classList.add('is-past');
    say(showDate(atMs));
    rest = setTimeout(() => void go(atMs), REST_MS);
  });
  live.addEventListener('click', now);
  setInterval(() => {
    if (!isPast) now();
  }, MINUTE_MS);
  now();
}
