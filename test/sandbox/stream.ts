// Opens a subscription with node:http and records status, headers, events and comments.
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { eventually } from '../support/running.js';

export interface StreamEvent {
  id: number;
  data: { topic: string; sender: string; message: { [field: string]: unknown } };
}

export interface Stream {
  status: number;
  headers: IncomingHttpHeaders;
  events: StreamEvent[];
  comments: string[];
  /** Waits until the condition is true. */
  until: (condition: () => boolean) => Promise<void>;
  /** Resolves with `end` after a clean end and `cut` after any other. */
  ended: Promise<'end' | 'cut'>;
  close: () => void;
}

/** Opens exactly `url + path` and resolves after the headers. */
export function openStream(
  url: string,
  path: string,
  headers: { [name: string]: string },
): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const outgoing = request({ hostname, port, path, headers, agent: false });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => resolve(readStream(response, () => outgoing.destroy())));
    outgoing.end();
  });
}

function readStream(response: IncomingMessage, close: () => void): Stream {
  const events: StreamEvent[] = [];
  const comments: string[] = [];
  let rest = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      if (block.startsWith(': ')) comments.push(block.slice(2));
      else {
        const [, id, data] = /^id: (\d+)\ndata: (.+)$/.exec(block) ?? [];
        events.push({ id: Number(id), data: JSON.parse(data ?? 'null') });
      }
    }
  });
  const ended = new Promise<'end' | 'cut'>((resolve) => {
    response.on('close', () => resolve(response.complete ? 'end' : 'cut'));
  });
  response.on('error', () => {});
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    comments,
    ended,
    close,
    until: (condition) => eventually(condition, () => JSON.stringify({ events, comments })),
  };
}
