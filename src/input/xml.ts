// Parses one XML part of a workbook as a stream of elements and text, with size limits.

/**
 * Thrown when XML is not well-formed, or exceeds a limit. The limits are far above the needs of
 * spreadsheet programs.
 */
export class XmlError extends Error {}

/** The maximum nesting depth of elements. The parts of a workbook are less deeply nested. */
const MOST_LEVELS = 100;
/** The maximum number of attributes of an element. Elements in workbooks have fewer attributes. */
const MOST_ATTRIBUTES = 200;
/**
 * The maximum length of text, of a comment or of an attribute. A cell has at most 32,767
 * characters.
 */
const LONGEST_TOKEN_CHARACTERS = 1024 * 1024;
const ENCODINGS = ['utf-8', 'utf8', 'us-ascii', 'utf-16', 'utf-16le', 'utf-16be'];

export interface XmlElement {
  /** The name without its prefix: `row` for `x:row`. */
  readonly name: string;
  /** The attributes by name. The names keep their prefixes. */
  readonly attributes: Readonly<Record<string, string>>;
  /**
   * Whether leading and trailing white space in the element's text is kept. This depends on the
   * `xml:space` attribute of the element, or of the nearest outer element that has one.
   */
  readonly keepsSpace: boolean;
}

/** Receives the elements and text of a document in order. Throwing an error stops the parsing. */
export interface XmlHandler {
  /**
   * Called at the start of an element. `path` contains the open elements around it, outermost
   * first.
   */
  open(element: XmlElement, path: readonly XmlElement[]): void;
  /** Called for a piece of text or CDATA. Comments and elements split text into several pieces. */
  text(text: string): void;
  close(element: XmlElement, path: readonly XmlElement[]): void;
}

/**
 * Parses a document to its end. Throws an XmlError when the document is not well-formed, declares a
 * DOCTYPE, uses an undefined entity, or exceeds a limit. Passes on the errors of `chunks` and
 * `handler`.
 */
export async function readXml(
  chunks: AsyncIterable<Uint8Array>,
  handler: XmlHandler,
): Promise<void> {
  const parser = await openParser(handler);
  let decoder: TextDecoder | undefined;
  for await (const chunk of chunks) {
    decoder ??= new TextDecoder(encodingOf(chunk), { fatal: true });
    parser.write(decode(decoder, chunk));
  }
  parser.write(decoder === undefined ? '' : decode(decoder));
  parser.close();
}

/** Returns the encoding that the byte order mark indicates, or UTF-8 without a mark. */
function encodingOf(start: Uint8Array): string {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le';
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be';
  return 'utf-8';
}

function decode(decoder: TextDecoder, chunk?: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch {
    throw new XmlError(`its text is not valid ${decoder.encoding.toUpperCase()}`);
  }
}

async function openParser(handler: XmlHandler) {
  const { SaxesParser } = await import('saxes');
  const parser = new SaxesParser();
  const path: XmlElement[] = [];
  let attributeCount = 0;
  let charactersSinceEvent = 0;
  const onEvent = () => {
    charactersSinceEvent = 0;
  };
  parser.on('error', (error) => {
    throw new XmlError(error.message);
  });
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !ENCODINGS.includes(encoding.toLowerCase()))
      throw new XmlError(`it is in the encoding "${encoding}", not in UTF-8`);
  });
  parser.on('doctype', () => {
    throw new XmlError('it has a DOCTYPE, which workbooks must not have');
  });
  parser.on('comment', onEvent);
  parser.on('processinginstruction', onEvent);
  parser.on('attribute', () => {
    attributeCount++;
    if (attributeCount > MOST_ATTRIBUTES)
      throw new XmlError(`an element has more than ${MOST_ATTRIBUTES} attributes`);
    onEvent();
  });
  parser.on('opentag', ({ name, attributes }) => {
    onEvent();
    attributeCount = 0;
    if (path.length >= MOST_LEVELS)
      throw new XmlError(`its elements are nested more than ${MOST_LEVELS} levels deep`);
    const space = attributes['xml:space'];
    const keepsSpace =
      space === undefined ? (path.at(-1)?.keepsSpace ?? false) : space === 'preserve';
    const element = { name: localName(name), attributes, keepsSpace };
    handler.open(element, path);
    path.push(element);
  });
  const onText = (text: string) => {
    onEvent();
    handler.text(text);
  };
  parser.on('text', onText);
  parser.on('cdata', onText);
  parser.on('closetag', () => {
    onEvent();
    const element = path.pop();
    if (element !== undefined) handler.close(element, path);
  });
  return {
    write(text: string) {
      charactersSinceEvent += text.length;
      parser.write(text);
      if (charactersSinceEvent > LONGEST_TOKEN_CHARACTERS)
        throw new XmlError('one of its texts is longer than a million characters');
    },
    close() {
      parser.close();
    },
  };
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
