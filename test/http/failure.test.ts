// Tests error bodies of every shape in cli.md section 3, and the error kind of each status.

import { describe, expect, test } from 'vitest';
import { answerFailure, kindOfStatus, readErrorBody } from '../../src/http/failure.js';

test.each<[what: string, body: string, text: string | undefined, type?: string]>([
  ['a detail string', '{"detail":"Not found."}', 'Not found.'],
  ['a message string', '{"message":"Slow down","code":7}', 'Slow down'],
  [
    "the sandbox's shape",
    `{"detail":{"non_field_errors":[{"message":"Action 'rent' not allowed","code":"x"}]}}`,
    "Action 'rent' not allowed",
  ],
  [
    'nested field errors',
    '{"detail":{"name":[{"message":"This field is required.","code":"required"}]}}',
    'name: This field is required.',
  ],
  [
    'field errors',
    '{"name":["This field is required."],"lock":["Unknown.","Taken."]}',
    'name: This field is required.; lock: Unknown.; lock: Taken.',
  ],
  ['deeper fields', '{"extra":{"location":["bad"]}}', 'extra.location: bad'],
  ['a list of strings', '["one","two"]', 'one; two'],
  ['error objects', '{"errors":[{"message":"bad token"}]}', 'bad token'],
  ['a bare string', '"no"', 'no'],
  ['plain text', 'upstream  down\n', 'upstream down'],
  [
    'an HTML page',
    '<!DOCTYPE html><html><title>502 Bad\nGateway</title>',
    'an HTML page "502 Bad Gateway"',
  ],
  ['HTML without a title', '<html><body>x</body></html>', 'an HTML page'],
  ['nothing', '', undefined],
  ['an empty object', '{}', undefined],
  ['null', 'null', undefined],
  [
    'problem details of RFC 9457',
    '{"type":"https://x/y","title":"Invalid","status":400,"detail":"Two fields are wrong","invalid-params":[{"name":"age","reason":"must be positive"}]}',
    'Invalid; Two fields are wrong; age: must be positive',
    'application/problem+json',
  ],
])('reads the message from the error body %s', (_case, body, text, type) => {
  expect(readErrorBody(body, type).text).toBe(text);
});

test('truncates a long error message and accepts deeply nested JSON', () => {
  expect(readErrorBody('x'.repeat(10_000)).text).toHaveLength(500);
  const deep = `${'['.repeat(5000)}"x"${']'.repeat(5000)}`;
  expect(readErrorBody(deep)).toEqual({
    text: 'JSON nested deeper than 500 levels',
    detail: deep.slice(0, 2000),
  });
});

test.each([
  [301, 'service'],
  [400, 'rejected'],
  [401, 'auth'],
  [403, 'auth'],
  [404, 'not-found'],
  [405, 'rejected'],
  [406, 'rejected'],
  [409, 'rejected'],
  [410, 'not-found'],
  [415, 'rejected'],
  [422, 'rejected'],
  [429, 'service'],
  [500, 'service'],
  [503, 'service'],
] as const)('maps HTTP %i to %s', (status, kind) => {
  expect(kindOfStatus(status)).toBe(kind);
});

describe('error responses', () => {
  test('an error says what failed, why, and what to do', () => {
    const error = answerFailure(
      401,
      { 'x-service-requestid': 'r1' },
      '{"detail":"Token expired."}',
      '"rent"',
    );
    expect(error.message).toBe('the service refused "rent": Token expired.');
    expect(error.hint).toContain('fleet auth login');
    expect(error).toMatchObject({
      kind: 'auth',
      status: 401,
      detail: { detail: 'Token expired.' },
      trace: { requestId: 'r1' },
    });
  });

  test('fleet supplies an error message when the service sends none', () => {
    expect(answerFailure(409, {}, '').message).toBe(
      'the service refused the request: no reason given',
    );
  });
});
