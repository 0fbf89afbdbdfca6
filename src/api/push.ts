// What the service says of the push channel: envelope, senders, topics and their encoding (interface.md sections 2.5, 4.6 and 6.1).

import { pathSegment, uuidOfLink } from './links.js';

/** A pushed message (section 2.5). `message` is a whole resource, part of one, or an object with a state alone. */
export interface PushEnvelope {
  topic?: string | null;
  sender?: string | null;
  message?: { [field: string]: unknown } | null;
  [unknownField: string]: unknown;
}

/** The values of `sender` that section 2.5 names. */
export const SENDERS = ['bicycle', 'alert', 'task', 'feedback', 'bicycle_leaving_state'] as const;

/** Section 6.1: updates of all bicycles of an organization. */
export function organizationTopic(organization: string): string {
  return `/${organization}/admin/bicycles/*`;
}

/** Section 6.1: updates of one bicycle. */
export function bicycleTopic(organization: string, bicycle: string): string {
  return `/${organization}/admin/bicycles/${bicycle}/`;
}

/**
 * Section 4.6: the subscription's path below the push address. "{topic} is the topic string URL-encoded with no safe
 * characters", slashes and the asterisk included; "the trailing slash after the encoded topic is required".
 */
export function subscribePath(topic: string): string {
  // encodeURIComponent leaves ! ' ( ) * as they are; RFC 3986 calls only letters, digits and - . _ ~ unreserved.
  const encoded = pathSegment(topic).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `/subscribe/${encoded}/`;
}

/** The bicycle a message is about: its own uuid, else the one at the end of its topic (section 6.1). */
export function uuidOfMessage({ topic, message }: PushEnvelope): string | undefined {
  const own = message?.['uuid'];
  if (typeof own === 'string' && own !== '') return own.toLowerCase();
  return typeof topic === 'string' ? uuidOfLink(topic)?.toLowerCase() : undefined;
}
