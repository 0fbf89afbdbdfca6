// Elements of the template, drawing at a pace, and how numbers and times are written.

import { h, render } from 'preact';
import { showElapsed } from '../system/age.js';

/** The element of the template with this id; the template and the page are built together. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

/** Shows in an element that something failed. */
export function sayFailure(container: HTMLElement, text: string, error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  render(h('p', { class: 'failure', role: 'alert' }, `${text} ${reason}`), container);
}

/** What fleet put into the page as JSON. */
export function readBlock<T>(id: string): T {
  return JSON.parse(byId(id).textContent ?? '') as T;
}

/** Calls at most once a frame, however often it is asked to. */
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

/** Calls as soon as it has not worked for `REST_FACTOR` times as long as it did the last time: what comes ten times a second must leave room. */
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

/** `100,000`. */
export function showNumber(value: number): string {
  return NUMBERS.format(value);
}

/** `3 min ago`. */
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

/** Shows times in this zone from now on; null is the browser's own zone. */
export function useTimeZone(timeZone: string | null): void {
  formats = openTimeFormats(timeZone ?? undefined);
}

export function pageTime(atMs: number): string {
  return formats.time.format(atMs);
}

export function showDate(atMs: number): string {
  return formats.date.format(atMs);
}
