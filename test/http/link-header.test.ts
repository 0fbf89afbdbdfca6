// The `Link` header of RFC 8288.

import { expect, test } from 'vitest';
import { findLink } from '../../src/http/link-header.js';

test.each([
  ['one link', '<?page=2>; rel="next"', '?page=2'],
  ['a relation without quotes', '<?page=2>; rel=next', '?page=2'],
  ['a relation in capitals', '<?page=2>; REL="NEXT"', '?page=2'],
  ['several relations', '<?page=9>; rel="next last"', '?page=9'],
  ['several links', '<?page=1>; rel="prev", <?page=3>; rel="next"', '?page=3'],
  ['a comma in the address', '<?fields=a,b&page=2>; rel="next"', '?fields=a,b&page=2'],
  ['a quoted comma and semicolon', '<?p=2>; title="a, b; rel=no \\" c"; rel="next"', '?p=2'],
  ['a parameter without a value', '<?p=2>; crossorigin; rel=next', '?p=2'],
  ['white space', ' ,\t<?p=2> ; rel = "next" ,', '?p=2'],
  ['only the first relation of a link', '<?p=2>; rel="prev"; rel="next"', undefined],
  ['a link about another resource', '<?p=2>; rel="next"; anchor="#foo"', undefined],
  ['another relation', '</style.css>; rel=preload', undefined],
  ['no closing bracket', '<?page=2; rel="next"', undefined],
  ['no closing quote', '<?page=2>; rel="next', '?page=2'],
  ['text that is not a link', 'next', undefined],
  ['no header', undefined, undefined],
])('reads the Link header %s', (_case, header, target) => {
  expect(findLink(header, 'next')).toBe(target);
});

test('reads hostile Link headers in linear time', () => {
  for (const piece of ['<', '<>', '<>;', '<a>;"', '<a>; rel=next, ', '"\\'])
    expect(() => findLink(piece.repeat(20_000), 'none')).not.toThrow();
});
