// Names a topic for people: its organization, and the bicycle if it is about one.

import { readTopic } from '../../../api/push.js';
import type { Context } from '../../../context.js';
import { ID_DIGITS } from '../../../views/bicycle.js';
import { showOrganizations } from '../../named/find.js';

/** Asks once for the names of the organizations. A topic that is not of section 6.1 is called as it is. */
export async function titleTopics(context: Context, topics: readonly string[]): Promise<(topic: string) => string> {
  const organizations = topics.flatMap((topic) => readTopic(topic)?.organization ?? []);
  const names = await showOrganizations(context, organizations);
  return (topic) => {
    const about = readTopic(topic);
    if (about === undefined) return topic;
    const { organization, role, bicycle } = about;
    const one = bicycle === undefined ? '' : `bicycle ${bicycle.slice(0, ID_DIGITS)} of `;
    return `${one}${names.get(organization) ?? organization}${role === 'admin' ? '' : ` as ${role}`}`;
  };
}
