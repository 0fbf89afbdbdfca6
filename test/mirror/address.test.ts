// Tests the URLs of mirror databases, and the files and variables of PostgreSQL that lead to a
// server.

import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readStatement } from '../../src/commands/mirror/query.js';
import { parseMirrorAddress, showMirrorAddress } from '../../src/mirror/address.js';
import { parseService, readConnection } from '../../src/mirror/connection.js';
import { findPassword } from '../../src/mirror/password-file.js';
import { newFolder } from '../support/folder.js';

test.each([
  ['sqlite:/var/lib/fleet.db', undefined, 'sqlite:/var/lib/fleet.db'],
  ['sqlite:///var/lib/fleet.db', undefined, 'sqlite:/var/lib/fleet.db'],
  ['sqlite:fleet.db', '/home/ann', 'sqlite:/home/ann/fleet.db'],
  ['sqlite:/home/ann@berlin/fleet.db', undefined, 'sqlite:/home/ann@berlin/fleet.db'],
  [
    ' postgres://ann@db.example.com:5433/fleet?sslmode=require ',
    undefined,
    'postgres://ann@db.example.com:5433/fleet?sslmode=require',
  ],
  [
    'postgresql:///fleet?host=/run/postgresql',
    undefined,
    'postgresql:///fleet?host=/run/postgresql',
  ],
  ['postgres://ann@/fleet?host=/run/a', undefined, 'postgres://ann@/fleet?host=/run/a'],
  [
    'postgres://db/fleet?options=-c%20search_path=fleet&require_auth=scram-sha-256&passfile=/a',
    undefined,
    'postgres://db/fleet?options=-c%20search_path=fleet&require_auth=scram-sha-256&passfile=/a',
  ],
])('accepts the mirror URL %s', (text, folder, shown) => {
  const parsed = parseMirrorAddress(text, folder);
  expect('value' in parsed && showMirrorAddress(parsed.value)).toBe(shown);
});

test.each([
  ['sqlite:', /needs the path/],
  ['sqlite::memory:', /needs the path/],
  ['sqlite:fleet.db', /not an absolute path/],
  ['sqlite:~/fleet.db', /only shells expand/],
  ['/var/lib/fleet.db', /begins with sqlite:/],
  ['mysql://host/db', /begins with sqlite:/],
  ['postgres://ann:s3cret@host/fleet', /must not hold a password/],
  ['postgres://host/fleet?user=ann&password=s3cret', /must not hold a password/],
  ['postgres://host/fleet?user=ann&passwd=s3cret', /must not hold a password/],
  ['postgres://host/fleet?PWD=s3cret', /must not hold a password/],
  ['postgres://host/fleet?sslpassword=s3cret', /must not hold a password/],
  ['postgres://host/fleet?api_key=s3cret', /must not hold a password/],
  ['postgres://host/fleet?options=-c%20app.password%3Ds3cret', /must not hold a password/],
  ['postgres://host/fleet?options=-c+app.secret=s3cret', /must not hold a password/],
  ['postgres://ann%3As3cret@host/fleet', /must not hold a password/],
  ['sqlite:/var/lib/fleet.db?password=s3cret', /needs the path of a file/],
  ['sqlite:postgres://ann:s3cret@host/fleet', /needs the path of a file/],
  ['sqlite://ann:s3cret@host/fleet', /needs the path of a file/],
  ['sqlite:ann:s3cret@host', /needs the path of a file/],
  ['postgres://ann:s3cr/et@host/fleet', /cannot be read|must not hold/],
  ['postgres://ann@host/%zz', /percent-encoded/],
  ['postgres://ann@host:99999/fleet', /port is a number from 1 to 65535/],
  ['postgres://ann@127.0.0.1/fleet?port=99999', /port is a number from 1 to 65535/],
  ['postgres://ann@host:0/fleet', /port is a number from 1 to 65535/],
  ['postgres://one,two:0/fleet', /port is a number from 1 to 65535/],
  ['postgres://one,two:s3cr/fleet', /port is a number from 1 to 65535/],
])('rejects the mirror URL %s without quoting a possible password', (text, reason) => {
  const parsed = parseMirrorAddress(text);
  expect('reason' in parsed && parsed.reason).toMatch(reason);
  expect(JSON.stringify(parsed)).not.toContain('s3cr');
});

const home = newFolder();

test('the URL overrides the service file, which overrides environment variables', async () => {
  writeFileSync(
    join(home, '.pg_service.conf'),
    '# ours\n[bikes]\nhost=from-service\nport=5444\nsslmode=disable\n',
  );
  const env = {
    HOME: home,
    PGSERVICE: 'bikes',
    PGHOST: 'from-environment',
    PGUSER: 'ann',
    PGDATABASE: 'other',
  };
  expect(await readConnection('postgres:///fleet', env)).toMatchObject({
    servers: [{ host: 'from-service', port: 5444, tls: [false] }],
    password: undefined,
    user: 'ann',
    database: 'fleet',
  });
  expect(
    await readConnection('postgres://bob@[::1]:1/fleet', { ...env, PGPASSWORD: 'mine' }),
  ).toMatchObject({
    servers: [{ host: '::1', port: 1 }],
    password: 'mine',
    user: 'bob',
  });
  const { servers } = await readConnection('postgres:///fleet?sslmode=prefer', env);
  expect(servers[0]?.tls).toEqual([{ host: 'from-service', rejectUnauthorized: false }, false]);
  await expect(
    readConnection('postgres:///fleet', { ...env, PGSERVICE: 'none' }),
  ).rejects.toMatchObject({
    message: expect.stringMatching(/no service "none"/),
  });
});

test.each([
  ['postgres://u@[::1]:2/d', '::1', 2],
  ['postgres://u@/d?host=/run/a&port=7', '/run/a', 7],
  ['postgres://u@%2Frun%2Fa/d', '/run/a', 5432],
  ['postgres://u@/d', 'from-environment', 5432],
  // A space is written as %20, because libpq does not decode +.
  ['postgres://u@/d?host=/run/a+b', '/run/a+b', 5432],
])('the URL %s connects to %s', async (url, host, port) => {
  const env = { HOME: home, PGHOST: 'from-environment' };
  expect(await readConnection(url, env)).toMatchObject({
    servers: [{ host, port }],
    user: 'u',
    database: 'd',
  });
});

test.each([
  ['postgres://u@one,two:2,[::1]:3/d', {}, ['one:5432', 'two:2', '::1:3']],
  ['postgres://u@one,two/d', { PGPORT: '7' }, ['one:7', 'two:7']],
  ['postgres:///d', { PGHOST: 'one,/run/a', PGPORT: '1,2' }, ['one:1', '/run/a:2']],
  ['postgres://u@/d?host=one,two&port=1,', {}, ['one:1', 'two:5432']],
])('reads several hosts from %s', async (url, variables, expected) => {
  const { servers } = await readConnection(url, { HOME: home, ...variables });
  expect(servers.map(({ host, port }) => `${host}:${port}`)).toEqual(expected);
});

test.each([
  ['postgres://one,two,three/d', { PGPORT: '1,2' }, /3 hosts and 2 ports/],
  ['postgres://one/d?target_session_attrs=writer', {}, /not a value of target_session_attrs/],
  ['postgres://one/d', { PGTARGETSESSIONATTRS: 'writer' }, /not a value of target_session_attrs/],
])('rejects the URL %s with the environment %j', async (url, variables, reason) => {
  const reading = readConnection(url, { HOME: home, ...variables });
  await expect(reading).rejects.toThrow(reason);
});

test.each([
  ['PGHOST', 'postgres://ann:S3-cret@db.example.com/fleet'],
  ['PGDATABASE', 'postgres://ann:S3-cret@db.example.com/fleet'],
  ['PGDATABASE', 'host=db.example.com password=S3-cret'],
  ['PGUSER', 'postgres://ann:S3-cret@db.example.com/fleet'],
  ['PGPORT', '5432 password=S3-cret'],
  ['PGSSLMODE', 'require password=S3-cret'],
  ['PGTARGETSESSIONATTRS', 'any password=S3-cret'],
  ['PGSERVICE', 'postgres://ann:S3-cret@db.example.com/fleet'],
  ['PGSERVICEFILE', '[fleet]\nhost=db.example.com\npassword=S3-cret'],
  ['PGSSLKEY', '-----BEGIN PRIVATE KEY-----\nS3-cret\n-----END PRIVATE KEY-----\n'],
  ['PGSSLKEY', Buffer.from('-----BEGIN PRIVATE KEY-----\nS3-cret').toString('base64')],
])('rejects a secret in %s without repeating it', async (name, value) => {
  const reading = readConnection('postgres://', { HOME: home, PGHOST: 'db', [name]: value });
  await expect(reading).rejects.toMatchObject({
    kind: 'config',
    message: expect.not.stringContaining(value.slice(-12)),
    hint: expect.stringContaining('PGPASSWORD'),
  });
});

test('rejects a service file entry with all settings on one line', async () => {
  const file = join(home, 'one-line.conf');
  writeFileSync(file, '[fleet]\nhost=db.example.com port=5432 password=S3-cret\n');
  const reading = readConnection('postgres://', {
    HOME: home,
    PGSERVICE: 'fleet',
    PGSERVICEFILE: file,
  });
  await expect(reading).rejects.toThrow(/^the setting "host" of PostgreSQL contains/);
});

test.each([
  ['h:5432:d:u:secret', 'secret'],
  ['#h:5432:d:u:no\nother:*:*:*:no\r\n*:*:*:u:a\\:b\\\\c\r\n', 'a:b\\c'],
  ['h:5433:d:u:no', undefined],
  ['h:5432:d:u:', undefined],
  ['h:5432:d:u', undefined],
  ['', undefined],
])('reads the password file %j', (text, password) => {
  const login = { host: 'h', port: 5432, database: 'd', user: 'u' };
  expect(findPassword(text, login)).toBe(password);
});

test.runIf(process.platform !== 'win32')('rejects a client key that others can read', async () => {
  const key = join(home, 'open.key');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const read = () => readConnection('postgres://h/d', { HOME: home, PGSSLKEY: key });
  for (const mode of [0o644, 0o640, 0o604]) {
    chmodSync(key, mode);
    await expect(read()).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringMatching(/\(sslkey\) can be read by other users/),
    });
  }
  chmodSync(key, 0o600);
  expect((await read()).servers).toHaveLength(1);
});

test('rejects an invalid port', async () => {
  const wrong = readConnection('postgres://h/d', { HOME: home, PGPORT: '70000' });
  await expect(wrong).rejects.toThrow(/port is not a number from 1 to 65535: "70000"/);
});

test('rejects invalid TLS files before it connects', async () => {
  const key = join(home, 'client.key');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const read = (more: NodeJS.ProcessEnv) =>
    readConnection('postgres://h/d', { HOME: home, PGPASSWORD: 'x', ...more });
  expect((await read({ PGSSLKEY: key })).servers[0]?.tls[0]).toMatchObject({
    key: expect.stringContaining('KEY'),
  });
  writeFileSync(key, 'no key');
  for (const variable of ['PGSSLKEY', 'PGSSLCERT', 'PGSSLROOTCERT'])
    await expect(read({ [variable]: key })).rejects.toMatchObject({
      message: expect.stringMatching(/files for TLS cannot be used/),
      hint: expect.stringContaining(variable),
    });
});

test.each([
  ['sslmode=verify-ca', /sslmode=verify-ca needs the file of an authority/],
  ['sslrootcert=system&sslmode=require', /sslmode=require needs the file/],
  [`sslmode=require&sslrootcert=${home}`, /\(sslrootcert\) cannot be read: it is a directory/],
])('rejects %s for network connections but ignores it for sockets', async (parameters, reason) => {
  await expect(readConnection(`postgres://h/d?${parameters}`, { HOME: home })).rejects.toThrow(
    reason,
  );
  expect(
    (await readConnection(`postgres:///d?host=/run&${parameters}`, { HOME: home })).servers[0]?.tls,
  ).toEqual([false]);
});

test('parses a service file in the same way as PostgreSQL', () => {
  expect(parseService('[a]\nx=1\n[b]\r\n host = h \n#c=d\nbad\n[c]\nhost=no', 'b')).toEqual({
    host: 'h',
  });
  expect(parseService('[a]', 'b')).toBeUndefined();
});

test.each([
  ['select 1', 'select 1'],
  ['  SELECT 1 ; -- done;\n', 'SELECT 1'],
  [`select ';' , ";", $$;$$ /* ; */ from t;`, `select ';' , ";", $$;$$ /* ; */ from t`],
  ['with a as (select 1) select * from a', 'with a as (select 1) select * from a'],
  ['(select 1)', '(select 1)'],
  ['-- why\nselect 1', '-- why\nselect 1'],
  ['select * from pg_replication_slots', 'select * from pg_replication_slots'],
])('accepts %j as one SQL statement', (text, statement) => {
  expect(readStatement(text)).toBe(statement);
});

test.each([
  ['', /is empty/],
  [' ; ', /is empty/],
  ['select 1; select 2', /must be a single statement/],
  ['delete from bicycles', /"delete" is refused/],
  ['pragma journal_mode = delete', /sets a value/],
  ["vacuum into '/tmp/x'", /"vacuum" is refused/],
  ["attach 'x' as y", /"attach" is refused/],
  ['set default_transaction_read_only to off', /"set" is refused/],
])('rejects %j', (text, message) => {
  expect(() => readStatement(text)).toThrow(message);
});
