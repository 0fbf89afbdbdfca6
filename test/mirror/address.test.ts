// Addresses of a mirror's database, and how PostgreSQL's own files and variables lead to a server.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parseMirrorAddress, showMirrorAddress } from '../../src/mirror/address.js';
import { findPassword, parseService, readConnection } from '../../src/mirror/connection.js';
import { readStatement } from '../../src/mirror/statement.js';

test.each([
  ['sqlite:/var/lib/fleet.db', undefined, 'sqlite:/var/lib/fleet.db'],
  ['sqlite:///var/lib/fleet.db', undefined, 'sqlite:/var/lib/fleet.db'],
  ['sqlite:fleet.db', '/home/ann', 'sqlite:/home/ann/fleet.db'],
  [
    ' postgres://ann@db.example.com:5433/fleet?sslmode=require ',
    undefined,
    'postgres://ann@db.example.com:5433/fleet?sslmode=require',
  ],
  ['postgresql:///fleet?host=/run/postgresql', undefined, 'postgresql:///fleet?host=/run/postgresql'],
])('%s is an address', (text, folder, shown) => {
  const parsed = parseMirrorAddress(text, folder);
  expect('value' in parsed && showMirrorAddress(parsed.value)).toBe(shown);
});

test.each([
  ['sqlite:', /needs the path/],
  ['sqlite::memory:', /needs the path/],
  ['sqlite:fleet.db', /not an absolute path/],
  ['sqlite:~/fleet.db', /only a shell knows/],
  ['/var/lib/fleet.db', /begins with sqlite:/],
  ['mysql://host/db', /begins with sqlite:/],
  ['postgres://ann:s3cret@host/fleet', /must not hold a password/],
  ['postgres://host/fleet?user=ann&password=s3cret', /must not hold a password/],
  ['postgres://ann:s3cr/et@host/fleet', /cannot be read|must not hold/],
])('%s is refused, and what may be a password is not repeated', (text, reason) => {
  const parsed = parseMirrorAddress(text);
  expect('reason' in parsed && parsed.reason).toMatch(reason);
  expect(JSON.stringify(parsed)).not.toContain('s3cr');
});

const home = mkdtempSync(join(tmpdir(), 'fleet-home-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

test('the address comes before the service, the service before the environment, and a password file last', async () => {
  writeFileSync(join(home, '.pg_service.conf'), '# ours\n[bikes]\nhost=from-service\nport=5444\nsslmode=disable\n');
  writeFileSync(join(home, '.pgpass'), 'from-service:5444:*:ann:right\\:one\n*:*:*:*:wrong\n', { mode: 0o600 });
  const env = { HOME: home, PGSERVICE: 'bikes', PGHOST: 'from-environment', PGUSER: 'ann', PGDATABASE: 'other' };
  expect(await readConnection('postgres:///fleet', env)).toMatchObject({
    host: 'from-service',
    port: 5444,
    user: 'ann',
    database: 'fleet',
    password: 'right:one',
    ssl: [false],
  });
  expect(await readConnection('postgres://bob@[::1]:1/fleet', { ...env, PGPASSWORD: 'mine' })).toMatchObject({
    host: '::1',
    port: 1,
    user: 'bob',
    password: 'mine',
  });
  expect((await readConnection('postgres:///fleet?sslmode=prefer', env)).ssl).toEqual([
    { rejectUnauthorized: false },
    false,
  ]);
  chmodSync(join(home, '.pgpass'), 0o644);
  await expect(readConnection('postgres:///fleet', env)).rejects.toMatchObject({
    kind: 'config',
    message: expect.stringMatching(/can be read by others/),
  });
  await expect(readConnection('postgres:///fleet', { ...env, PGSERVICE: 'none' })).rejects.toMatchObject({
    message: expect.stringMatching(/no service "none"/),
  });
});

test('files of PostgreSQL are read as PostgreSQL does', () => {
  expect(parseService('[a]\nx=1\n[b]\r\n host = h \n#c=d\nbad\n[c]\nhost=no', 'b')).toEqual({ host: 'h' });
  expect(parseService('[a]', 'b')).toBeUndefined();
  const wanted = { host: '/run/postgresql', port: 5432, database: 'fleet', user: 'ann' };
  expect(
    findPassword('#localhost:*:*:*:no\nlocalhost:5432:fleet:bob:no\nlocalhost:5432:fleet:ann:a\\\\b', wanted),
  ).toBe('a\\b');
  expect(findPassword('host:5432:fleet:ann:no\nlocalhost:5432:fleet', wanted)).toBeUndefined();
});

test.each([
  ['select 1', 'select 1'],
  ['  SELECT 1 ; -- done;\n', 'SELECT 1'],
  [`select ';' , ";", $$;$$ /* ; */ from t;`, `select ';' , ";", $$;$$ /* ; */ from t`],
  ['with a as (select 1) select * from a', 'with a as (select 1) select * from a'],
  ['(select 1)', '(select 1)'],
  ['-- why\nselect 1', '-- why\nselect 1'],
])('%j is one statement', (text, statement) => {
  expect(readStatement(text)).toBe(statement);
});

test.each([
  ['', /is empty/],
  [' ; ', /is empty/],
  ['select 1; select 2', /has several/],
  ['delete from bicycles', /"delete" is refused/],
  ['pragma journal_mode = delete', /sets a value/],
  ["vacuum into '/tmp/x'", /"vacuum" is refused/],
  ["attach 'x' as y", /"attach" is refused/],
  ['set default_transaction_read_only to off', /"set" is refused/],
])('%j is refused', (text, message) => {
  expect(() => readStatement(text)).toThrow(message);
});
