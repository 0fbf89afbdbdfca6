// Formats the bodies of `--post --template`, with one format for each kind of receiver.

/** The contents of a message, for receivers that are people or alert managers. */
export interface Notification {
  /** One line that says what happened, and to which bicycle or rule. */
  readonly title: string;
  /** More details in one or several lines, or ''. */
  readonly text: string;
  /**
   * Whether the alert or violation still needs attention. False after the alert or violation has
   * ended.
   */
  readonly isOpen: boolean;
  /** The kind of alert, or the name of the rule. */
  readonly kind: string;
  /** The names and values of the fields, most important first. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** The identifier of the alert. It stays the same when the alert changes. */
  readonly key: string;
  /** When the alert began and ended, as the service wrote it (RFC 3339). */
  readonly startsAt?: string | undefined;
  readonly endsAt?: string | undefined;
  /** The URL of a page with more details. */
  readonly link?: string | undefined;
}

export const TEMPLATES = ['slack', 'teams', 'ntfy', 'alertmanager'] as const;
export type Template = (typeof TEMPLATES)[number];

/** The URL and the JSON body of a request. */
export interface Post {
  readonly url: URL;
  readonly body: string;
}

/** Formats a notification for the receiver that the template names. */
export function renderPost(template: Template, url: URL, notification: Notification): Post {
  if (template === 'slack') return jsonPost(url, slackBody(notification));
  if (template === 'teams') return jsonPost(url, teamsBody(notification));
  if (template === 'ntfy') return ntfyPost(url, notification);
  return jsonPost(url, alertmanagerBody(notification));
}

function jsonPost(url: URL, body: unknown): Post {
  return { url, body: JSON.stringify(body) };
}

/**
 * Returns the body for a Slack webhook:
 * https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
 */
function slackBody({ title, text, isOpen, facts }: Notification): object {
  const mark = isOpen ? ':red_circle:' : ':white_check_mark:';
  const lines = facts.map(([name, value]) => `${name}: ${value}`);
  const rest = [text, ...lines].filter((line) => line !== '').map(escapeSlack);
  return { text: [`${mark} *${escapeSlack(title)}*`, ...rest].join('\n') };
}

/** Escapes the characters that Slack interprets as markup or mentions. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Returns a card for a Teams webhook (Workflows): https://adaptivecards.io/explorer */
function teamsBody({ title, text, isOpen, facts }: Notification): object {
  const heading = {
    type: 'TextBlock',
    text: escapeMarkdown(title),
    weight: 'Bolder',
    color: isOpen ? 'Attention' : 'Good',
    wrap: true,
  };
  const body = { type: 'TextBlock', text: escapeMarkdown(text), wrap: true };
  const table = {
    type: 'FactSet',
    facts: facts.map(([name, value]) => ({ title: name, value: escapeMarkdown(value) })),
  };
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: text === '' ? [heading, table] : [heading, body, table],
        },
      },
    ],
  };
}

/** Escapes Markdown, so that bicycle and rule names do not become links or formatting. */
function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]()#<>]/g, '\\$&');
}

const HIGH_PRIORITY = 4;
const LOW_PRIORITY = 2;

/**
 * Returns a post for ntfy. The JSON is posted to the server's URL, and the JSON itself contains the
 * topic: https://docs.ntfy.sh/publish/#publish-as-json
 */
function ntfyPost(url: URL, { title, text, isOpen, kind, facts, link }: Notification): Post {
  const [, path = '', topic = ''] = /^(.*\/)([^/]+)\/?$/.exec(url.pathname) ?? [];
  const server = new URL(url);
  server.pathname = path;
  const lines = [text, ...facts.map(([name, value]) => `${name}: ${value}`)];
  return jsonPost(server, {
    topic: decodeURIComponent(topic),
    title,
    message: lines.filter((line) => line !== '').join('\n'),
    priority: isOpen ? HIGH_PRIORITY : LOW_PRIORITY,
    tags: [isOpen ? 'red_circle' : 'white_check_mark', kind],
    ...(link === undefined ? {} : { click: link }),
  });
}

/**
 * Returns the body for `POST /api/v2/alerts` of Prometheus Alertmanager. The labels identify the
 * alert, so they contain only values that never change.
 */
function alertmanagerBody(notification: Notification): object {
  const { title, text, isOpen, kind, facts, key, startsAt, endsAt, link } = notification;
  return [
    {
      labels: { alertname: kind, key, service: 'fleet' },
      annotations: {
        summary: title,
        ...(text === '' ? {} : { description: text }),
        ...Object.fromEntries(facts.map(([name, value]) => [name.replace(/\W+/g, '_'), value])),
      },
      ...(startsAt === undefined ? {} : { startsAt }),
      ...(isOpen || endsAt === undefined ? {} : { endsAt }),
      ...(link === undefined ? {} : { generatorURL: link }),
    },
  ];
}
