// Collects the text of rich text elements: `<si>` and `<is>` (ECMA-376 part 1, section 18.4).

import { decodeEscapes } from './cell-value.js';
import type { XmlElement } from './xml.js';

/**
 * Collects the text of the elements `t` and `r/t` in a container. Ignores phonetic hints (`rPh`).
 */
export class RichText {
  #text = '';
  #run: string | undefined;

  /**
   * Handles the start of an element in a container (`<si>` or `<is>`). `inside` contains the open
   * elements between the container and this element.
   */
  open(element: XmlElement, inside: readonly XmlElement[]): void {
    const isRun = inside.length === 1 && inside[0]?.name === 'r';
    if (element.name === 't' && (inside.length === 0 || isRun)) this.#run = '';
  }

  addText(text: string): void {
    if (this.#run !== undefined) this.#run += text;
  }

  close(element: XmlElement): void {
    if (element.name !== 't' || this.#run === undefined) return;
    this.#text += decodeEscapes(detach(element.keepsSpace ? this.#run : trimSpace(this.#run)));
    this.#run = undefined;
  }

  /** Returns the collected text and resets it. */
  take(): string {
    const text = this.#text;
    this.#text = '';
    this.#run = undefined;
    return text;
  }
}

/**
 * V8 copies a substring of at most this length. A longer substring refers to the whole XML text and
 * keeps it in memory.
 */
const LONGEST_COPIED_CHARACTERS = 12;

/**
 * Returns a copy of a string. A substring without a copy would make V8 keep the whole chunk of XML
 * in memory. The copy is made by converting to UTF-8 and back. This is exact, because XML cannot
 * contain lone surrogates.
 */
export function detach(text: string): string {
  return text.length <= LONGEST_COPIED_CHARACTERS ? text : Buffer.from(text).toString();
}

/**
 * Removes leading and trailing XML white space. Excel does this for text without
 * `xml:space="preserve"`.
 */
function trimSpace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}
