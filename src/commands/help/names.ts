// The names of the pages of help that belong to no command.

/** The pages that belong to no command, and what each is about. */
export const TOPICS = {
  'exit-codes': 'what each exit code means',
  environment: 'variables that fleet reads, and which setting comes first',
  output: 'formats, what goes to stdout and what to stderr',
  'push-topics': 'what fleet watch can follow',
  conditions: 'what --where and --until take',
  mirror: 'the tables of a mirror, and ten queries',
  mirroring: 'how a mirror is kept: writers, gaps, failures',
  gbfs: 'what a GBFS feed says, in the words of both sides',
  flags: 'the flags of every command',
} as const;

export type Topic = keyof typeof TOPICS;

export const TOPIC_NAMES = Object.keys(TOPICS) as readonly Topic[];
