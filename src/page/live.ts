// Receives updates of a served page: the whole fleet after a gap, else what is new.

import type { Payload, Update } from './payload.js';

export interface PageLiveOptions {
  readonly sequence: number;
  onUpdate(update: Update): void;
  /** The page is too far behind: this is how things are now. */
  onFleet(payload: Payload): void;
  /** Whether fleet itself answers. */
  onConnection(isOpen: boolean): void;
}

const RETRY_MS = 2_000;

export type Following = ReturnType<typeof followFleet>;

export function followFleet({ sequence, onUpdate, onFleet, onConnection }: PageLiveOptions) {
  let known = sequence;
  let isPaused = false;
  let source: EventSource | undefined;
  const open = () => {
    source?.close();
    // A browser keeps six connections to a server, and each tab that listens holds one: hidden tabs close theirs.
    if (isPaused || document.visibilityState === 'hidden') return;
    const opened = new EventSource(`events?after=${known}`);
    source = opened;
    opened.addEventListener('update', ({ data }) => {
      const news = JSON.parse(data) as Update;
      known = news.sequence;
      onUpdate(news);
    });
    opened.addEventListener('fleet', () => void renew(opened));
    opened.addEventListener('open', () => onConnection(true));
    opened.addEventListener('error', () => {
      onConnection(false);
      // The browser tries again by itself, unless it was answered with something else.
      if (opened.readyState === EventSource.CLOSED) setTimeout(open, RETRY_MS);
    });
  };
  /** Too much was missed, or all of it: fleet has one packed copy for every page. */
  const renew = async (asker: EventSource) => {
    asker.close();
    try {
      const payload = await askFleet<Payload>('fleet');
      if (source !== asker) return;
      known = payload.sequence;
      onFleet(payload);
      open();
    } catch {
      if (source === asker) setTimeout(open, RETRY_MS);
    }
  };
  open();
  document.addEventListener('visibilitychange', open);
  return {
    /** Receives nothing more, until it is to go on with how things are then. */
    pause() {
      isPaused = true;
      known = -1;
      source?.close();
      source = undefined;
    },
    resume() {
      isPaused = false;
      if (source === undefined) open();
    },
  };
}

/** What fleet answers below the address of the page. */
export async function askFleet<Answer>(
  path: string,
  signal: AbortSignal | null = null,
): Promise<Answer> {
  const answer = await fetch(path, { signal });
  if (!answer.ok) throw new Error(`fleet answered ${answer.status}`);
  return answer.json();
}
