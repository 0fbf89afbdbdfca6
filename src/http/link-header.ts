// Parses the `Link` header (RFC 8288).

const SPACE = /[ \t]/;
const TOKEN_END = /[ \t,;=]/;

interface Link {
  target: string;
  /** The parameters by name, in lower case. When a name occurs twice, the first value is used. */
  parameters: ReadonlyMap<string, string>;
}

/**
 * Returns the target of the first link with this relation type, or undefined when there is none.
 * Ignores links with an `anchor`, because they describe another resource. Ignores everything after
 * a syntax error.
 */
export function findLink(header: string | undefined, relation: string): string | undefined {
  const link = parseLinks(header ?? '').find(({ parameters }) => {
    const relations = parameters.get('rel')?.toLowerCase().split(/[ \t]/) ?? [];
    return relations.includes(relation) && !parameters.has('anchor');
  });
  return link?.target;
}

function parseLinks(text: string): Link[] {
  const links: Link[] = [];
  let at = 0;

  function skip(pattern: RegExp): void {
    while (at < text.length && pattern.test(text.charAt(at))) at += 1;
  }

  function readToken(): string {
    const start = at;
    while (at < text.length && !TOKEN_END.test(text.charAt(at))) at += 1;
    return text.slice(start, at);
  }

  /**
   * Reads a quoted string that begins at index `at`. Returns its content without quotes and
   * escapes.
   */
  function readQuoted(): string {
    const characters: string[] = [];
    at += 1;
    while (at < text.length && text.charAt(at) !== '"') {
      if (text.charAt(at) === '\\') at += 1;
      characters.push(text.charAt(at));
      at += 1;
    }
    at += 1;
    return characters.join('');
  }

  function readParameters(): Map<string, string> {
    const parameters = new Map<string, string>();
    for (;;) {
      skip(SPACE);
      if (text.charAt(at) !== ';') return parameters;
      at += 1;
      skip(SPACE);
      const name = readToken().toLowerCase();
      skip(SPACE);
      let value = '';
      if (text.charAt(at) === '=') {
        at += 1;
        skip(SPACE);
        value = text.charAt(at) === '"' ? readQuoted() : readToken();
      }
      if (name !== '' && !parameters.has(name)) parameters.set(name, value);
    }
  }

  for (;;) {
    skip(/[ \t,]/);
    const end = text.indexOf('>', at);
    if (text.charAt(at) !== '<' || end === -1) return links;
    const target = text.slice(at + 1, end).trim();
    at = end + 1;
    links.push({ target, parameters: readParameters() });
  }
}
