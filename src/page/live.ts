// Receives the updates of a served page. After a gap, receives the whole fleet, otherwise only
// changes.

import type { Payload, Update } from './payload.js';

export interface PageLiveOptions {
  readonly sequence: number;
  onUpdate(update: Update): void;
  /** Called with the whole fleet when the page has missed too many updates. */
  onFleet(payload: Payload): void;
  /** Called when the connection to fleet opens or closes. */
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
    // A browser allows six connections to a server, and each open tab uses one. Therefore a hidden
    // tab closes its connection.
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
      // The browser reconnects automatically, except when fleet's response was not a stream.
      if (opened.readyState === EventSource.CLOSED) setTimeout(open, RETRY_MS);
    });
  };
  /**
   * Loads the whole fleet after the page missed too many updates. fleet sends the same compressed
   * copy to all pages.
   */
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
    /** Pauses updates until the page shows the current fleet again. */
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

/** Requests data from fleet. The path is relative to the page's URL. */
export async function askFleet<Answer>(
  path: string,
  signal: AbortSignal | null = null,
): Promise<Answer> {
  const answer = await fetch(path, { signal });
  if (!answer.ok) throw new Error(`fleet answered ${answer.status}`);
  return answer.json();
}
