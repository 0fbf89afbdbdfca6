// The push channel as the service defines it: envelope, senders, topics and their encoding
// (interface.md sections 2.5, 4.6 and 6.1).

import { bicycleUuid } from './bicycle.js';
import { isUuid, pathSegment, wholeUuid } from './links.js';

/**
 * A pushed message (section 2.5). `message` is a whole resource, a part of a resource, or an object
 * with only a state.
 */
export interface PushEnvelope {
  topic?: string | null;
  sender?: string | null;
  message?: { [field: string]: unknown } | null;
  [unknownField: string]: unknown;
}

/** The values of `sender` that section 2.5 names. */
export const SENDERS = ['bicycle', 'alert', 'task', 'feedback', 'bicycle_leaving_state'] as const;

/**
 * The token roles that have topics, in the order in which they are tried. Observed: all bicycles
 * are published to each of the first three roles. Only available bicycles are published to renters.
 * Section 6.1 names only `admin`.
 */
const ROLES_OF_TOKENS = ['admin', 'fleet_operator', 'mechanic', 'renter', 'spectator'] as const;

/**
 * The values of `--role`. With `user`, the topic contains the user's UUID. Observed: a user's own
 * reservation and rental are published on this topic.
 */
export const TOPIC_ROLES = [...ROLES_OF_TOKENS, 'user'] as const;

export type TopicRole = (typeof TOPIC_ROLES)[number];

/** Section 6.1: updates of all bicycles of an organization. */
export function organizationTopic(organization: string): string {
  return `/${organization}/admin/bicycles/*`;
}

/** Section 6.1: updates of one bicycle. */
export function bicycleTopic(organization: string, bicycle: string): string {
  return `/${organization}/admin/bicycles/${bicycle}/`;
}

/**
 * Returns the organization and bicycle of a topic of section 6.1, in lower case; undefined for any
 * other topic.
 */
export function readTopic(topic: string) {
  const match = BICYCLES_TOPIC.exec(topic);
  const segment = match?.[2] ?? '';
  const role = isUuid(segment) ? 'user' : ROLES_OF_TOKENS.find((each) => each === segment);
  if (match?.[1] === undefined || role === undefined) return undefined;
  return { organization: match[1].toLowerCase(), role, bicycle: match[3]?.toLowerCase() };
}

const BICYCLES_TOPIC =
  /^\/([0-9a-f-]{36})\/([a-z_]+|[0-9a-f-]{36})\/bicycles\/(?:\*|([0-9a-f-]{36})\/)$/i;

/**
 * Returns one topic for each role that may subscribe, in the order in which fleet tries the topics.
 *
 * If the user chose a role, only its topic is returned. Otherwise these are the topics of the roles
 * in the token, starting with the role in `topic`. If the token has none of these roles, the role
 * in `topic` is used. `user` is the UUID of the token's user. A topic that section 6.1 does not
 * define is returned unchanged.
 */
export function topicsByRole(
  topic: string,
  named: readonly string[],
  asked: TopicRole | undefined,
  user = '',
): string[] {
  const own = readTopic(topic)?.role;
  if (own === undefined) return [topic];
  // No other role can subscribe to the topic of a single user, so only this topic is tried.
  if (own === 'user' && asked === undefined) return [topic];
  const held = [...new Set<string>([own, ...ROLES_OF_TOKENS])].filter((role) =>
    named.includes(role),
  );
  const roles = asked !== undefined ? [asked] : held.length > 0 ? held : [own];
  const segments = roles.map((role) => (role === 'user' ? user : role));
  return segments.map((segment) =>
    topic.replace(/^(\/[^/]+\/)[^/]+\//, (_, head: string) => `${head}${segment}/`),
  );
}

/**
 * Section 4.6: the subscription's path below the push address. "{topic} is the topic string
 * URL-encoded with no safe characters", slashes and the asterisk included; "the trailing slash
 * after the encoded topic is required".
 */
export function subscribePath(topic: string): string {
  return `/subscribe/${pathSegment(topic)}/`;
}

/**
 * Returns the UUID of the bicycle that a message is about. The UUID is in the field `uuid`, or at
 * the end of the topic (section 6.1).
 */
export function uuidOfMessage({ topic, message }: PushEnvelope): string | undefined {
  return bicycleUuid(message ?? {}) ?? wholeUuid(String(topic ?? ''));
}
