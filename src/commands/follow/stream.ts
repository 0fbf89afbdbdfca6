// The push channel for whoever follows topics: one subscription each, by the settings of the command.

import { subscribePath } from '../../api/push.js';
import type { Context } from '../../context.js';
import { type HttpLog, joinUrl } from '../../http/client.js';
import type { StreamEvent } from '../../http/stream/events.js';
import { followStream } from '../../http/stream.js';

export interface TopicOptions {
  topics: readonly string[];
  sseUrl: URL;
  /** How long silence may last before a connection counts as dead. */
  idleMs: number;
  /** How long the stream may be down before it is given up; undefined is for ever. */
  giveUpAfterMs: number | undefined;
  signal: AbortSignal;
  log: HttpLog;
  /** Takes each event; `size` is its weight in characters. */
  emit(event: StreamEvent, size?: number): void;
  /** A promise while the one who takes the events is behind. */
  room(): Promise<void> | undefined;
  /** Called when anything came on a topic, a comment included, after its events. */
  onLife?(topic: string): void;
}

/** Follows the topics until the signal is aborted or one of them is closed for good. */
export async function followTopics(context: Context, options: TopicOptions): Promise<void> {
  const { topics, sseUrl, idleMs, giveUpAfterMs, signal, log, emit, room, onLife } = options;
  const [settings, tokens, network] = await Promise.all([context.settings(), context.token(), context.network()]);
  await followStream({
    subscriptions: topics.map((topic) => ({ topic, url: joinUrl(sseUrl, subscribePath(topic)) })),
    apiVersion: settings.apiVersion.value,
    timeoutMs: settings.timeoutMs.value,
    idleMs,
    ...(giveUpAfterMs === undefined ? {} : { giveUpAfterMs }),
    network,
    tokens,
    secrets: context.io.secrets,
    clock: context.clock,
    signal,
    emit,
    room,
    ...(onLife === undefined ? {} : { onLife }),
    onRequest: (url, headers) => log.request('GET', url, headers, undefined),
    onAnswer: (url, status, headers, milliseconds) => log.response('GET', url, status, headers, milliseconds),
  });
}
