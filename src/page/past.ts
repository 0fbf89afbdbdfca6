// The time slider: shows the fleet at a moment that a mirror recorded.

import { MINUTE_MS } from '../system/time-units.js';
import { byId, showDate } from './dom.js';
import { askFleet, type Following } from './live.js';
import type { Payload } from './payload.js';

export interface SliderOptions {
  readonly fromMs: number;
  readonly following: Following;
  onPast(payload: Payload): void;
}

/** How long the user must not move the slider before the fleet is requested. */
const REST_MS = 150;

export function openSlider({ fromMs, following, onPast }: SliderOptions): void {
  const slider = byId('past-time') as HTMLInputElement;
  const { documentElement: root } = document;
  let asked = new AbortController();
  const say = (text: string) => {
    byId('past-at').textContent = text;
    slider.setAttribute('aria-valuetext', text);
  };
  const isPast = () => root.classList.contains('is-past');
  const span = () => {
    slider.min = String(Math.floor(fromMs / MINUTE_MS));
    slider.max = String(Math.ceil(Date.now() / MINUTE_MS));
    if (!isPast()) slider.value = slider.max;
  };
  /** Undefined means now. */
  const show = async (atMs: number | undefined) => {
    asked.abort();
    asked = new AbortController();
    const { signal } = asked;
    root.classList.toggle('is-past', atMs !== undefined);
    byId('past-live').setAttribute('aria-pressed', String(atMs === undefined));
    say(atMs === undefined ? 'now' : showDate(atMs));
    span();
    if (atMs === undefined) return following.resume();
    following.pause();
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    if (signal.aborted) return;
    try {
      onPast(await askFleet<Payload>(`past?at=${atMs}`, signal));
    } catch {
      // If a newer request has replaced and aborted this request, this is not a failure.
      if (!signal.aborted) say('the history of the mirror cannot be read');
    }
  };
  slider.addEventListener('input', () => {
    void show(
      slider.value === slider.max ? undefined : Math.max(fromMs, Number(slider.value) * MINUTE_MS),
    );
  });
  byId('past-live').addEventListener('click', () => void show(undefined));
  setInterval(span, MINUTE_MS);
  byId('past').hidden = false;
  void show(undefined);
}
