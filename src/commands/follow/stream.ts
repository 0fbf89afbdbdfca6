// The push channel for whoever follows topics: one subscription each, by the settings of the command.

import { subscribePath } from '../../api/push.js';
import type { Context } from '../../context.js';
import { joinUrl } from '../../http/client.js';
import { followStream, type StreamOptions } from '../../http/stream.js';

export interface TopicOptions
  extends Pick<StreamOptions, 'idleMs' | 'giveUpAfterMs' | 'signal' | 'emit' | 'room' | 'onLife' | 'log'> {
  topics: readonly string[];
  sseUrl: URL;
}

/** Follows the topics until the signal is aborted or one of them is closed for good. */
export async function followTopics(context: Context, options: TopicOptions): Promise<void> {
  const { topics, sseUrl } = options;
  const [settings, tokens, network] = await Promise.all([context.settings(), context.token(), context.network()]);
  // A proxy that is none will be none at the next try.
  network.routeTo(sseUrl);
  await followStream({
    ...options,
    subscriptions: topics.map((topic) => ({ topic, url: joinUrl(sseUrl, subscribePath(topic)) })),
    apiVersion: settings.apiVersion.value,
    timeoutMs: settings.timeoutMs.value,
    network,
    tokens,
    secrets: context.io.secrets,
    clock: context.clock,
  });
}
