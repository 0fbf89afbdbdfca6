// Finds the template's elements, limits how often the page is drawn, and formats numbers and times.

import { h, render } from 'preact';
import { showElapsed } from '../system/age.js';

/**
 * Returns the element with this id. The element always exists, because the template and the page's
 * script are built together.
 */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

/** Shows a failure in an element, with the reason when there is an error. */
export function sayFailure(container: HTMLElement, text: string, error?: unknown): void {
  const reason = error instanceof Error ? error.message : String(error ?? '');
  render(h('p', { class: 'failure', role: 'alert' }, `${text} ${reason}`.trim()), container);
}

/** Reads JSON that fleet put into the page. */
export function readBlock<T>(id: string): T {
  return JSON.parse(byId(id).textContent ?? '') as T;
}

/** Limits calls to one per frame. */
export function oncePerFrame(draw: () => void): () => void {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      draw();
    });
  };
}

/**
 * Limits how often a function is called. The pause between two calls is `REST_FACTOR` times as long
 * as the last call took. Other work therefore has enough time even when updates arrive ten times a
 * second.
 */
export function gently(work: () => void): () => void {
  let isAsked = false;
  let tookMs = 0;
  return () => {
    if (isAsked) return;
    isAsked = true;
    setTimeout(() => {
      isAsked = false;
      const start = performance.now();
      work();
      tookMs = performance.now() - start;
    }, tookMs * REST_FACTOR);
  };
}

const REST_FACTOR = 4;

const NUMBERS = new Intl.NumberFormat('en');

/** Formats a number: `100,000`. */
export function showNumber(value: number): string {
  return NUMBERS.format(value);
}

/** Formats an age: `3 min ago`. */
export function showAge(atMs: number | null, nowMs: number): string {
  return atMs === null ? '–' : showElapsed(nowMs - atMs);
}

let formats = openTimeFormats(undefined);

function openTimeFormats(timeZone: string | undefined) {
  return {
    time: new Intl.DateTimeFormat('en-GB', {
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZone,
    }),
    date: new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone }),
  };
}

/** Sets the time zone in which times are shown; null is the browser's zone. */
export function useTimeZone(timeZone: string | null): void {
  formats = openTimeFormats(timeZone ?? undefined);
}

export function pageTime(atMs: number): string {
  return formats.time.format(atMs);
}

export function showDate(atMs: number): string {
  return formats.date.format(atMs);
}
