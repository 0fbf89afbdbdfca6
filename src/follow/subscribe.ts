// Subscribes to topics of the push channel, one subscription for each topic, with the command's
// settings and the token's roles.

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
  /** The value of `--role`; undefined to use the token's roles. */
  role?: TopicRole | undefined;
  log: HttpLog;
  /** Called before each connection with its token. */
  onToken?(token: string): void;
}

/** Follows the topics until the signal is aborted or one of them is closed permanently. */
export async function followTopics(context: Context, options: TopicOptions): Promise<void> {
  const { topics, sseUrl, role } = options;
  const [settings, tokens, network] = await Promise.all([
    context.settings(),
    context.token(),
    context.network(),
  ]);
  // Retrying cannot fix an invalid proxy, so it fails here, before the first connection.
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
 * Returns a topic of bicycles once for each role that the token can subscribe as. Returns any other
 * topic unchanged.
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
      '--role user needs a token that names its user',
      `name the topic: --topic /ORGANIZATION/USER/bicycles/*`,
    );
  return topicsByRole(topic, named, role, user).map((each) => targetOf(sseUrl, each));
}

function targetOf(sseUrl: URL, topic: string): TopicTarget {
  return { topic, url: joinUrl(sseUrl, subscribePath(topic)) };
}

/**
 * Whether the lists show every bicycle of the organizations to this token, according to its claims.
 * Observed: "operators see all of their organization; mechanics and renters the available ones and
 * their own".
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
