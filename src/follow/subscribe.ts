// Subscribes to topics of the live stream, with the command's settings and the token's roles. Each
// topic has its own subscription.

import { isUuid } from '../api/links.js';
import { readTopic, subscribePath, type TopicRole, topicsByRole } from '../api/push.js';
import type { Context } from '../context.js';
import { usageError } from '../errors.js';
import { type HttpLog, joinUrl } from '../http/client.js';
import { followStream, type StreamOptions, type TopicTarget } from '../http/stream.js';
import { affiliationsOf, readClaims } from '../settings/token.js';

export interface TopicOptions extends Pick<StreamOptions, 'signal' | 'emit' | 'room' | 'onLife'> {
  topics: readonly string[];
  /** The value of `--idle` in milliseconds. */
  idle: number;
  sseUrl: URL;
  /** The value of `--role`. When undefined, the token's roles are used. */
  role?: TopicRole | undefined;
  log: HttpLog;
  /** Called before each connection, with the token that it uses. */
  onToken?(token: string): void;
}

/** Follows the topics until the signal is aborted or any topic is closed permanently. */
export async function followTopics(context: Context, options: TopicOptions): Promise<void> {
  const { topics, sseUrl, role } = options;
  const [settings, tokens, network] = await Promise.all([
    context.settings(),
    context.token(),
    context.network(),
  ]);
  // Fails before the first connection, because retrying cannot fix an invalid proxy setting.
  network.routeTo(sseUrl);
  await followStream({
    ...options,
    idleMs: options.idle,
    subscriptions: topics.map((topic) => ({
      ...targetOf(sseUrl, topic),
      targets(token) {
        options.onToken?.(token);
        return targetsOf(sseUrl, topic, token, role);
      },
    })),
    apiVersion: settings.apiVersion.value,
    timeoutMs: settings.timeout.value,
    network,
    tokens,
    secrets: context.io.secrets,
    clock: context.clock,
  });
}

/**
 * Returns the topics to try. A bicycle topic becomes one topic for each of the token's roles. Any
 * other topic is returned unchanged.
 */
export function targetsOf(
  sseUrl: URL,
  topic: string,
  token: string,
  role: TopicRole | undefined,
): TopicTarget[] {
  const named = affiliationsOf(token).get(readTopic(topic)?.organization ?? '') ?? [];
  const subject = readClaims(token)?.['sub'];
  const user = typeof subject === 'string' && isUuid(subject) ? subject : undefined;
  if (role === 'user' && user === undefined)
    throw usageError(
      '--role user needs a token that contains the UUID of its user',
      `pass the topic: --topic /ORGANIZATION/USER/bicycles/*`,
    );
  return topicsByRole(topic, named, role, user).map((each) => targetOf(sseUrl, each));
}

function targetOf(sseUrl: URL, topic: string): TopicTarget {
  return { topic, url: joinUrl(sseUrl, subscribePath(topic)) };
}

/**
 * Whether the lists show all bicycles of the organizations to this token, by its claims. Observed:
 * "operators see all of their organization; mechanics and renters the available ones and their
 * own".
 */
export function seesAllOf(token: string, organizations: readonly string[]): boolean {
  const affiliations = affiliationsOf(token);
  const roles = organizations.map(
    (organization) => affiliations.get(organization.toLowerCase()) ?? [],
  );
  return roles.every(
    (held) => held.length === 0 || held.includes('admin') || held.includes('fleet_operator'),
  );
}
