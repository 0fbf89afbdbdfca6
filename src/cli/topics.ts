// The names and summaries of the guides in docs/. The guide `flags` is generated from the program
// itself.

export const TOPICS = {
  install: 'as a package or one file; completion, manual, upgrade',
  settings: 'profiles, environment variables, the token, proxies',
  aliases: 'short names for command lines, defaults of flags',
  lists: 'one page or all of it, filters',
  conditions: 'what --where and --until take',
  states: 'states of bicycles and alerts',
  bulk: 'changing many bicycles, and resuming after a crash',
  plans: 'plan changes, carry them out later, and undo them',
  check: 'rules for the fleet, and their verdicts',
  report: 'figures of the fleet, and their definitions in SQL',
  excel: 'spreadsheets: export, edit and import again',
  recipes: 'command lines for common jobs',
  cron: 'jobs without a terminal',
  watching: 'gaps, endings and connections of fleet watch',
  'push-topics': 'what fleet watch can follow',
  alerts: 'alerts as they happen, and webhooks',
  map: 'maps on a terminal, as a picture and in a browser',
  mirror: 'the tables of a mirror, and ten queries',
  mirroring: 'how a mirror is kept: databases, writers, gaps, failures',
  postgres: 'a mirror in PostgreSQL: connection, rights, failures',
  gbfs: 'how the fleet becomes a GBFS feed',
  rounds: 'tours of vans: limits, files, routers',
  output: 'formats, files, jq; what goes to stdout and what to stderr',
  agents: 'assistants: the server, its tools, and what they may do',
  'exit-codes': 'exit codes, errors as JSON, retries, limits',
  troubleshooting: 'what to do when something goes wrong',
  flags: 'the flags of every command',
} as const;

export type Topic = keyof typeof TOPICS;

export const TOPIC_NAMES = Object.keys(TOPICS) as readonly Topic[];

/**
 * Returns the guide with this name. `environment` is an alias, because gh and other tools use this
 * name.
 */
export function topicOf(word: string | undefined): Topic | undefined {
  const name = word?.toLowerCase();
  return name === 'environment' ? 'settings' : TOPIC_NAMES.find((known) => known === name);
}
