// Simulates a user who answers prompts on a terminal.

import { PassThrough } from 'node:stream';
import type { RunOptions } from './run.js';

/** Creates a terminal that types each answer when its question appears, in this order. */
export function typing(
  answers: readonly (readonly [question: string, answer: string])[],
): RunOptions & { typed(): number } {
  const stdin = new PassThrough();
  let count = 0;
  let seen = '';
  const onStderr = (text: string) => {
    seen += text;
    const [question, answer] = answers[count] ?? [];
    if (question === undefined || !seen.includes(question)) return;
    count++;
    seen = '';
    setTimeout(() => stdin.write(answer), 20);
  };
  return {
    stdin,
    onStderr,
    terminal: { columns: 200 },
    env: { NO_COLOR: '1' },
    typed: () => count,
  };
}
