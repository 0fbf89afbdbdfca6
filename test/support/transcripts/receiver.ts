// Another server beside the service: receives the webhooks that fleet sends. Transcripts call its
// address `<receiver>`.

import { startServer } from '../server.js';

export interface Receiver {
  url: string;
  /** Sets the statuses of the next answers. The last one repeats. */
  setAnswers(statuses: readonly number[]): void;
  /** Returns the lines of all requests: the request line, some headers and the body. */
  requests(): string[];
  close(): Promise<void>;
}

/** The headers that a transcript shows. Other headers are the same for each request. */
const SHOWN_HEADERS = /^(?:content-type|authorization|x-.*)$/;

export async function startReceiver(): Promise<Receiver> {
  let left: readonly number[] = [200];
  const server = await startServer((response) => {
    const [status = 200, ...others] = left;
    if (others.length > 0) left = others;
    response.writeHead(status).end();
  });
  return {
    url: server.url,
    setAnswers: (statuses) => {
      left = statuses;
    },
    requests: () =>
      server.asked.flatMap(({ method, path, headers, body }) => [
        `${method} ${path}`,
        ...Object.entries(headers)
          .filter(([name]) => SHOWN_HEADERS.test(name))
          .map(([name, value]) => `${name}: ${value}`),
        ...body.split('\n'),
      ]),
    close: server.close,
  };
}
