// Hears what fleet sends to a page that it serves, and reads the whole fleet again where something was missed.

import type { Fields, Payload, Update } from './payload.js';

export interface LiveOptions {
  readonly sequence: number;
  onUpdate(update: Update): void;
  /** The page is too far behind: this is how things are now. */
  onSnapshot(payload: Payload): void;
  /** Whether fleet itself answers. */
  onConnection(isOpen: boolean): void;
}

const RETRY_MS = 2_000;

export function followFleet({ sequence, onUpdate, onSnapshot, onConnection }: LiveOptions): void {
  let known = sequence;
  const open = () => {
    const source = new EventSource(`events?after=${known}`);
    source.addEventListener('open', () => onConnection(true));
    source.addEventListener('update', ({ data }) => {
      const update = JSON.parse(data) as Update;
      if (update.sequence <= known) return;
      known = update.sequence;
      onUpdate(update);
    });
    source.addEventListener('reset', () => {
      source.close();
      void readAgain();
    });
    source.addEventListener('error', () => {
      onConnection(false);
      // The browser tries again by itself, unless it was answered with something else.
      if (source.readyState !== EventSource.CLOSED) return;
      source.close();
      setTimeout(() => void readAgain(), RETRY_MS);
    });
  };
  const readAgain = async (): Promise<void> => {
    try {
      const answer = await fetch('fleet.json');
      if (!answer.ok) throw new Error(String(answer.status));
      const payload = (await answer.json()) as Payload;
      known = payload.live?.sequence ?? known;
      onSnapshot(payload);
      open();
    } catch {
      onConnection(false);
      setTimeout(() => void readAgain(), RETRY_MS);
    }
  };
  open();
}

/** Every field of one bicycle, from fleet. */
export async function askForFields(uuid: string): Promise<Fields> {
  const answer = await fetch(`bicycles/${encodeURIComponent(uuid)}`);
  return answer.ok ? ((await answer.json()) as Fields) : [];
}
