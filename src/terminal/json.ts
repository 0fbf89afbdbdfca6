// JSON text taken apart and laid out anew without reading it: every number and escape stays byte for byte what it was.

/** The end of the string that opens at `start`: the index behind its closing quote. */
function endOfString(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); quote !== -1; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (json[quote - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return json.length;
}

const SCALAR = /[^\s,:[\]{}"]+/y;

/** The tokens of valid JSON text: braces, brackets, commas and colons, strings with their quotes, numbers and words. */
export function* readTokens(json: string): Generator<string, void, undefined> {
  let index = 0;
  while (index < json.length) {
    const character = json[index] ?? '';
    if (character === '"') {
      const end = endOfString(json, index);
      yield json.slice(index, end);
      index = end;
    } else if ('{}[],:'.includes(character)) {
      yield character;
      index += 1;
    } else {
      SCALAR.lastIndex = index;
      const scalar = SCALAR.exec(json)?.[0];
      if (scalar !== undefined) yield scalar;
      index += scalar?.length ?? 1;
    }
  }
}

/** Valid JSON text without the white space between its tokens; text on one line is returned as it is. */
export function squeezeJson(json: string): string {
  return /[\n\r]/.test(json) ? [...readTokens(json)].join('') : json;
}

/**
 * Valid JSON text laid out with two spaces a level, as `JSON.stringify(value, null, 2)` does, but from the text itself: every
 * number and escape stays byte for byte what it was. `margin` goes before every line but the first.
 */
export function indentJson(json: string, margin = '', paintKey?: (name: string) => string): string {
  const parts: string[] = [];
  const containers: string[] = [];
  let previous = '';
  for (const token of readTokens(json)) {
    const isClosing = token === '}' || token === ']';
    if (isClosing) containers.pop();
    const isEmpty = isClosing && (previous === '{' || previous === '[');
    const isFirst = !isClosing && (previous === '{' || previous === '[');
    if ((isClosing && !isEmpty) || isFirst || previous === ',')
      parts.push('\n', margin, '  '.repeat(containers.length));
    const isKey = token[0] === '"' && containers.at(-1) === '{' && (previous === '{' || previous === ',');
    parts.push(token === ':' ? ': ' : isKey && paintKey !== undefined ? paintKey(token) : token);
    if (token === '{' || token === '[') containers.push(token);
    previous = token;
  }
  return parts.join('');
}
