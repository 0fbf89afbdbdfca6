// Collects the text of an element with rich text: `<si>` and `<is>` (ECMA-376 part 1, section
// 18.4).

import { decodeEscapes } from './cell-value.js';
import type { XmlElement } from './xml.js';

/**
 * Collects the texts of `t` and `r/t` inside an element. Phonetic hints (`rPh`) are not part of the
 * text.
 */
export class RichText {
  #text = '';
  #run: string | undefined;

  /** `inside` has the names of the open elements between the container and this element. */
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

  /** Returns the text and starts a new one. */
  take(): string {
    const text = this.#text;
    this.#text = '';
    this.#run = undefined;
    return text;
  }
}

/**
 * V8 copies a substring up to this length, so such a substring does not keep the whole text in
 * memory.
 */
const LONGEST_COPIED_CHARACTERS = 12;

/**
 * Copies a text. V8 keeps the whole chunk of XML in memory as long as a part of it is used. The
 * conversion to UTF-8 and back does not change the text, because XML cannot contain lone
 * surrogates.
 */
export function detach(text: string): string {
  return text.length <= LONGEST_COPIED_CHARACTERS ? text : Buffer.from(text).toString();
}

/** Removes XML's white space at both ends, as Excel does without `xml:space="preserve"`. */
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
