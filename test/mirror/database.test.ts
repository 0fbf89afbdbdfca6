// Tests that both mirror databases have the same rows, transactions and errors.

import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { TLSSocket, type TLSSocketOptions } from 'node:tls';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { FleetError } from '../../src/errors.js';
import type { Database, OpenOptions, Value } from '../../src/mirror/database.js';
import { newFolder } from '../support/folder.js';
import { listenOn } from '../support/listen.js';
import { openedDatabase, useEngines, withDatabase } from '../support/mirror.js';
import { LOCKED_USER } from '../support/postgres.js';
import { refusal } from '../support/refusal.js';
import { hasTool } from '../support/tools.js';

/** How long a test waits on a busy machine. */
const WAIT_MS = 90_000;

const folder = newFolder();

const never = new AbortController().signal;
/** Opens a database until the end of the test. */
const open = (
  text: string,
  access: OpenOptions['access'],
  env: NodeJS.ProcessEnv = {},
  signal = never,
) => openedDatabase(text, { access, env, signal });

const engines = useEngines();
const [, [, newPostgres] = ['postgres', async () => '']] = engines;

describe.each(engines)('%s', (kind, newText) => {
  const REAL = kind === 'sqlite' ? 'real' : 'numeric';
  const TABLE = `create table things (id integer primary key, name text, big bigint, part ${REAL}, yes boolean)`;
  const openThings = async (text: string) => {
    const database = await openedDatabase(text);
    await database.all(TABLE);
    return database;
  };
  const COLUMNS = ['id', 'name', 'big', 'part', 'yes'];

  test('stores exact values and replaces rows that have the same key', async () => {
    const database = await openThings(await newText());
    const row: Value[] = [1, `it's "ü" \\ \\N {x,y} ?\n\t\r😀`, 2n ** 62n, 13.25, true];
    await database.write('things', COLUMNS, [
      row,
      [2, 'half \ud800', 7, null, false],
      [3, 'nul \0', null, 0, null],
    ]);
    const part = (value: number) => (kind === 'sqlite' ? value : String(value));
    const yes = (value: boolean) => (kind === 'sqlite' ? Number(value) : value);
    const before = await database.all('select * from things order by id');
    expect(before).toEqual([
      { id: 1, name: row[1], big: 2n ** 62n, part: part(13.25), yes: yes(true) },
      { id: 2, name: 'half \ufffd', big: 7, part: null, yes: yes(false) },
      { id: 3, name: 'nul \ufffd', big: null, part: part(0), yes: null },
    ]);
    const rows = Object.entries({ 2: 'last', 4: 'new' }).map(([id, name]) => [Number(id), name]);
    await database.write('things', ['id', 'name'], rows, ['id']);
    expect(
      await database.all('select id, name, big from things where id > ? order by id', [1]),
    ).toEqual([
      { id: 2, name: 'last', big: 7 },
      { id: 3, name: 'nul \ufffd', big: null },
      { id: 4, name: 'new', big: null },
    ]);
  });

  test('runs several writes to a table in one transaction', async () => {
    const database = await openThings(await newText());
    await database.transaction(async () => {
      for (const name of ['first', 'second'])
        await database.write('things', ['id', 'name'], [[1, name]], ['id']);
      await database.all('delete from things');
      await database.write('things', ['id', 'name'], [[2, 'third']], ['id']);
    });
    expect(await database.all('select id, name from things')).toEqual([{ id: 2, name: 'third' }]);
  });

  test('accepts new rows after the database has rejected earlier rows', async () => {
    const database = await openThings(await newText());
    const twice = [1, 2, 2].map((id) => [id, 'x'.repeat(100_000)]);
    await expect(database.write('things', ['id', 'name'], twice)).rejects.toThrow(
      /the database reported an error: .*(unique|duplicate)/i,
    );
    await database.write('things', ['id', 'name'], [[3, 'y']]);
    expect(await database.all('select id, name from things')).toEqual([{ id: 3, name: 'y' }]);
  });

  test('rolls back a failed transaction and commits the next one', async () => {
    const database = await openThings(await newText());
    const failing = database.transaction(async () => {
      await database.write('things', ['id'], [[1]]);
      throw new Error('no');
    });
    const passing = database.transaction(async () => {
      await database.write('things', ['id'], [[2]]);
      return 'yes';
    });
    await expect(failing).rejects.toThrow('no');
    expect(await passing).toBe('yes');
    expect(await database.all('select id from things')).toEqual([{ id: 2 }]);
  });

  test('reads many rows in chunks and can stop early', async () => {
    const database = await openThings(await newText());
    const rows = Array.from({ length: 12_000 }, (_, id) => [id, `n${id}`]);
    await database.write('things', ['id', 'name'], rows);
    let count = 0;
    for await (const chunk of database.each(
      'select id from things where id >= ? order by id',
      [0],
    )) {
      expect(chunk[0]).toEqual({ id: count });
      count += chunk.length;
      await database.all('select max(id) from things');
    }
    expect(count).toBe(12_000);
    for await (const chunk of database.each('select id from things')) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    await database.write('things', ['id'], [[20_000]]);
  });

  test('a reader cannot change the database', async () => {
    const text = await newText();
    const database = await openThings(text);
    const reader = await open(text, 'read');
    for (const text of [
      'delete from things',
      'insert into things (id) values (1)',
      'create table t (a int)',
    ])
      await expect(reader.all(text)).rejects.toMatchObject({ kind: 'output', exitCode: 10 });
    await database.write('things', ['id'], [[5]]);
    expect(await reader.all('select id from things')).toEqual([{ id: 5 }]);
    const found = await reader.query("select id, id as id, '?' as mark, 1.50 as part from things");
    expect(found.columns.map(({ name }) => name)).toEqual(['id', 'id', 'mark', 'part']);
    for await (const chunk of found.chunks)
      expect(chunk).toEqual([[5, 5, '?', kind === 'sqlite' ? 1.5 : '1.50']]);
    const made = await reader
      .query('explain analyze create table made as select 1')
      .catch(() => undefined);
    for await (const chunk of made?.chunks ?? []) expect(chunk.length).toBeGreaterThan(0);
    await expect(reader.all('select 1 from made')).rejects.toThrow('made');
    const bad: [string, RegExp][] = [
      [kind === 'postgres' ? 'select $1' : 'select (', /./],
      ['selct 1', /syntax error/],
      ['select nothing from things', /nothing/],
    ];
    for (const [sql, words] of bad)
      await expect(reader.query(sql)).rejects.toMatchObject(refusal('usage', words));
  });

  test('rejects a query whose values are too long', async () => {
    const text = await newText();
    await openedDatabase(text);
    const reader = await open(text, 'read');
    const long =
      kind === 'sqlite' ? "select printf('%.100000000c', 'x')" : "select repeat('x', 100000000)";
    const read = async () => {
      for await (const chunk of (await reader.query(long)).chunks)
        expect(chunk.length).toBeGreaterThan(0);
    };
    await expect(read()).rejects.toMatchObject(refusal('usage', /more than 64 MB/));
  });

  test.runIf(kind === 'postgres')(
    'limits the locks of a suspended writer to the length of its lease',
    async () => {
      const database = await openedDatabase(await newText());
      const name = 'idle_in_transaction_session_timeout';
      expect(await database.all(`show ${name}`)).toMatchObject([{ [name]: '15s' }]);
    },
  );

  test('an aborted query fails with the abort reason', async () => {
    const text = await newText();
    const abort = new AbortController();
    const database = await open(text, 'write', {}, abort.signal);
    const running = kind === 'postgres' ? database.all('select pg_sleep(30)') : undefined;
    abort.abort(new Error('stop'));
    await expect(running ?? database.all('select 1')).rejects.toThrow('stop');
  });
});

/** Returns a message of the PostgreSQL protocol (section 53.7). */
function postgresMessage(type: string, fields: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  return Buffer.concat([Buffer.from(type), length, fields]);
}

/** A server that asks for the password, and repeats it in an error at the login or after it. */
async function openRepeating(step: 'login' | 'query', code: string): Promise<string> {
  const server = createServer((socket) => {
    let password: string | undefined;
    socket.on('error', () => {});
    const repeat = () => {
      const fields = `SERROR\0C${code}\0M"${password}" is not the password\0\0`;
      socket.write(postgresMessage('E', Buffer.from(fields)));
    };
    socket.once('data', () => {
      // AuthenticationCleartextPassword.
      socket.write(postgresMessage('R', Buffer.from([0, 0, 0, 3])));
      socket.on('data', (message) => {
        const isLogin = password === undefined;
        password ??= message.subarray(5, -1).toString();
        if (step === 'login') {
          repeat();
          socket.end();
          return;
        }
        if (isLogin) socket.write(postgresMessage('R', Buffer.alloc(4)));
        else repeat();
        socket.write(postgresMessage('Z', Buffer.from('I')));
      });
    });
  });
  const port = await listenOn(server);
  onTestFinished(() => void server.close());
  return `postgres://u@127.0.0.1:${port}/d?sslmode=disable`;
}

test.each([
  ['login', '28P01'],
  ['login', 'XX000'],
  ['query', '42501'],
  ['query', 'XX000'],
] as const)(
  'hides the password that a PostgreSQL server repeats at the %s with the code %s',
  async (step, code) => {
    const text = await openRepeating(step, code);
    const opening = open(text, 'read', { PGPASSWORD: 'Secret-Passw0rd' });
    const reading = opening.then((database) => database.all('select 1'));
    const error: FleetError = await reading.catch((thrown) => thrown);
    expect(String(error)).toContain('"[hidden]" is not the password');
    // --verbose prints the stack of the cause.
    expect(inspect(error)).not.toContain('Secret-Passw0rd');
  },
);

test('an aborted connection attempt fails with the abort reason', async () => {
  const silent = createServer(() => {});
  const abort = new AbortController();
  const text = `postgres://u@127.0.0.1:${await listenOn(silent)}/d?sslmode=disable`;
  const opening = open(text, 'read', {}, abort.signal);
  abort.abort(new Error('stop'));
  const late = new Promise((resolve) => setTimeout(resolve, 5000, 'late').unref());
  await expect(Promise.race([opening, late])).rejects.toThrow('stop');
  silent.close();
});

describe('a SQLite file', () => {
  test.runIf(process.platform === 'linux')(
    'locks a SQLite file during a write, even after the same process opened the file to inspect it',
    async () => {
      const path = join(newFolder(), 'fleet.db');
      const first = await open(`sqlite:${path}`, 'write');
      await first.all('select 1');
      // A writer that was killed before inspects the file, closes it, and opens it for writing.
      await (await open(`sqlite:${path}`, 'look')).close();
      await open(`sqlite:${path}`, 'write');
      const locks = readFileSync('/proc/locks', 'utf8').split('\n');
      expect(
        locks.filter(
          (line) => line.includes(` ${process.pid} `) && line.includes(`:${statSync(path).ino} `),
        ),
      ).not.toEqual([]);
    },
  );

  test('the path of a SQLite file cannot be a folder or a pipe', async () => {
    const pipe = join(folder, 'pipe');
    spawnSync('mkfifo', [pipe]);
    for (const path of [pipe, folder])
      for (const access of ['read', 'write'] as const)
        await expect(open(`sqlite:${path}`, access)).rejects.toMatchObject({ kind: 'config' });
  });

  test('a SQLite file, its folder and its auxiliary files are private', async () => {
    const path = join(folder, 'own', 'fleet.db');
    const database = await openedDatabase(`sqlite:${path}`);
    await database.all('create table t (a int)');
    for (const each of [path, `${path}-wal`, `${path}-shm`])
      expect(statSync(each).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'own')).mode & 0o777).toBe(0o700);
  });

  test('rejects a SQLite file that is missing or is not a database', async () => {
    const path = join(folder, 'none.db');
    await expect(open(`sqlite:${path}`, 'read')).rejects.toMatchObject(
      refusal('config', /there is no mirror at/),
    );
    writeFileSync(path, 'no database'.repeat(1000));
    await expect(open(`sqlite:${path}`, 'read')).rejects.toMatchObject(
      refusal('config', /damaged or not a database/),
    );
  });

  test('a locked SQLite file causes a temporary error', async () => {
    const path = join(folder, 'busy.db');
    const first = await openedDatabase(`sqlite:${path}`);
    await first.all('create table t (a int)');
    const second = await open(`sqlite:${path}`, 'write');
    const write = () => second.write('t', ['a'], [[2]]);
    const locked = { ...refusal('output', /is locked by another program/), isLasting: false };
    await first.transaction(() => expect(write()).rejects.toMatchObject(locked));
    await write();
    expect(await first.all('select a from t')).toEqual([{ a: 2 }]);
  });
});

describe.runIf(hasTool('openssl'))('a PostgreSQL server with TLS', () => {
  const files = newFolder();
  const openssl = (line: string) => spawnSync('sh', ['-c', `openssl ${line}`], { cwd: files });
  openssl(
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=db.test -days 3 -keyout key.pem -out cert.pem',
  );

  /**
   * Returns what a client in this mode requests. The server rejects connections without TLS, and
   * every password with TLS.
   */
  async function attempt(parameters: string, env: NodeJS.ProcessEnv = {}) {
    const asked: string[] = [];
    const refuse = (socket: Duplex, code: string, message: string) => {
      const fields = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`);
      const length = Buffer.alloc(4);
      length.writeInt32BE(fields.length + 4);
      socket.end(Buffer.concat([Buffer.from('E'), length, fields]));
    };
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => readFileSync(join(files, name)));
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', (first) => {
        // The TLS request of section 53.7.
        const wantsTls = first.readInt32BE(4) === 80877103;
        asked.push(wantsTls ? 'tls' : 'plain');
        if (!wantsTls) return refuse(socket, '28000', 'no pg_hba.conf entry, no encryption');
        socket.write('S');
        const secure = new TLSSocket(socket, { isServer: true, key, cert } as TLSSocketOptions);
        secure.on('error', () => {});
        secure.once('data', () => refuse(secure, '28P01', 'password authentication failed'));
      });
    });
    const opening = open(
      `postgres://u@127.0.0.1:${await listenOn(server)}/d?${parameters}`,
      'read',
      env,
    );
    const error = await opening.catch((thrown: FleetError) => thrown);
    server.close();
    return { asked, error: error as FleetError };
  }

  test.each([
    ['disable', ['plain'], /no encryption/, /./],
    ['allow', ['plain', 'tls'], /password authentication failed/, /./],
    ['prefer', ['tls'], /password authentication failed/, /./],
    ['require', ['tls'], /password authentication failed/, /./],
    ['verify-full', ['tls'], /certificate of an unknown authority/, /PGSSLROOTCERT/],
    [`verify-ca&sslrootcert=${files}/cert.pem`, ['tls'], /password authentication failed/, /./],
    [
      `verify-full&sslrootcert=${files}/cert.pem`,
      ['tls'],
      /certificate of another host/,
      /PGSSLROOTCERT/,
    ],
  ])('sslmode=%s requests %j', async (mode, expected, message, hint) => {
    const { asked, error } = await attempt(`sslmode=${mode}`, { HOME: files });
    expect(asked).toEqual(expected);
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(hint);
  });

  test('sslmode=verify-full verifies certificates even with NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { error } = await attempt('sslmode=verify-full', { HOME: files });
    expect(error.message).toMatch(/certificate of an unknown authority/);
    // As in libpq: this mode would accept any authority, so it needs an explicit one.
    const any = await attempt('sslmode=verify-ca', { HOME: files });
    expect(any.error.message).toMatch(/sslmode=verify-ca needs the file of an authority/);
  });
});

describe.runIf(engines.length > 1)('a PostgreSQL server', () => {
  test.each([
    ['57014', 'statement timeout', "set statement_timeout to '20ms'", 'select pg_sleep(10)'],
    ['55P03', 'lock timeout', "set lock_timeout to '20ms'", 'insert into held values (1)'],
    [
      '40001',
      'serialization',
      undefined,
      "do $a$ begin raise exception 'met' using errcode = '40001'; end $a$",
    ],
    [
      '40P01',
      'deadlock',
      undefined,
      "do $a$ begin raise exception 'met' using errcode = '40P01'; end $a$",
    ],
  ])('reports the error %s (%s) as temporary', async (_code, _name, setting, statement) => {
    const text = await newPostgres();
    const other = await openedDatabase(text);
    await other.all('create table held (a int)');
    const database = await openedDatabase(text);
    if (setting !== undefined) await database.all(setting);
    await other.transaction(async () => {
      await other.all('lock table held');
      await expect(database.all(statement)).rejects.toMatchObject(refusal('network', / is busy: /));
    });
  });

  test('closes the PostgreSQL connection when the reader stops early', async () => {
    const text = await newPostgres();
    const database = await open(text, 'read');
    const connections = () =>
      withDatabase(text, async (other) => {
        const others =
          'pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
        return Number((await other.all(`select count(*) as n from ${others}`))[0]?.['n']);
      });
    expect((await database.query('select from generate_series(1, 3)')).columns).toEqual([]);
    await database.query('select * from generate_series(1, 100000)');
    expect(await connections()).toBe(3);
    await database.close();
    await expect.poll(connections).toBe(0);
  });

  test('exits with 8 for an unreachable PostgreSQL, 3 for a missing database', async () => {
    const url = await newPostgres();
    const hint = expect.stringMatching(/start the server/);
    const gone = { ...refusal('network', /cannot be reached/), hint };
    await expect(open(url.replace(/:\d+\//, ':1/'), 'read')).rejects.toMatchObject(gone);
    const missing = url.replace(/[^/]*$/, 'nothing_here');
    await expect(open(missing, 'read')).rejects.toMatchObject(refusal('config', /not there/));
  });

  test.each<[what: string, wait: (database: Database) => Promise<unknown>]>([
    ['a query', (database) => database.all('select pg_sleep(30)')],
    ['rows on their way', (database) => database.write('things', ['id'], [[1]])],
    [
      'rows on their way, and a lock',
      (database) => database.write('things', ['id'], [[1]], ['id']),
    ],
  ])('waiting commands exit with 8 when PostgreSQL stops: %s', async (_what, wait) => {
    const text = await newPostgres();
    const other = await openedDatabase(text);
    await other.all('create table things (id integer primary key)');
    const database = await open(text, 'write');
    const watcher = await openedDatabase(text);
    const [row] = await database.all('select pg_backend_pid() as pid');
    await other.transaction(async () => {
      await other.all('lock table things in access exclusive mode');
      const waiting = expect(wait(database)).rejects.toMatchObject({ kind: 'network' });
      await vi.waitFor(async () => {
        const sql =
          "select state from pg_stat_activity where pid = ? and (wait_event_type = 'Lock' or wait_event = 'PgSleep')";
        expect(await watcher.all(sql, [row?.['pid'] ?? 0])).toHaveLength(1);
      }, WAIT_MS);
      await watcher.all('select pg_terminate_backend(?)', [row?.['pid'] ?? 0]);
      await waiting;
    });
    await expect(database.all('select 1')).rejects.toMatchObject({ kind: 'network' });
  });

  test('reads the PostgreSQL password from PGPASSWORD or a password file', async () => {
    const url = new URL(await newPostgres());
    const database = await openedDatabase(url.href);
    await database.all(`create role ${LOCKED_USER} login superuser password 's3cret'`);
    url.username = LOCKED_USER;
    const text = url.href;
    const file = join(folder, 'pgpass');
    writeFileSync(file, `127.0.0.1:*:*:${LOCKED_USER}:s3cret\n`, { mode: 0o600 });
    for (const env of [
      { PGPASSWORD: 's3cret' },
      { PGPASSFILE: file },
      { PGPASSFILE: file, PGPASSWORD: '' },
    ]) {
      const database = await open(text, 'read', env);
      expect(await database.all('select current_user as name')).toEqual([{ name: LOCKED_USER }]);
    }
    const open0644 = join(folder, 'pgpass-open');
    writeFileSync(open0644, `*:*:*:*:s3cret\n`, { mode: 0o644 });
    const ignored = open(text, 'read', { PGPASSFILE: open0644 });
    await expect(ignored).rejects.toMatchObject({
      ...refusal('config', /refuses the login/),
      hint: expect.stringMatching(/password file is ignored: .*can be read by other users/),
    });
    for (const env of [{ PGPASSWORD: 'wr0ng' }, { HOME: folder }]) {
      const refused = await open(text, 'read', env).catch((error: unknown) => error);
      expect(refused).toMatchObject(refusal('config', /refuses the login/));
      expect(String(refused)).not.toContain('wr0ng');
    }
  });

  test('connects to the first usable PostgreSQL server among several hosts', async () => {
    const url = await newPostgres();
    const { port, pathname } = new URL(url);
    const database = pathname.slice(1);
    const address = (more = '') =>
      `postgres://postgres@localhost:1,127.0.0.1:${port}/${database}${more}`;
    for (const access of ['read', 'write'] as const)
      expect(await (await open(address(), access)).all('select 1 as one')).toEqual([{ one: 1 }]);
    const env = { PGHOST: '127.0.0.1,127.0.0.1', PGPORT: `1,${port}` };
    const found = await open(`postgres://postgres@/${database}`, 'read', env);
    expect(await found.all('select current_database() as name')).toEqual([{ name: database }]);
    // The server behaves like a standby in this database.
    await (await openedDatabase(url)).all(
      `alter database ${database} set default_transaction_read_only to on`,
    );
    await open(address(), 'read');
    await expect(open(address(), 'write')).rejects.toMatchObject({
      ...refusal('network', /localhost:1 cannot be reached/),
      more: [expect.stringMatching(/is not a server that can be written/)],
    });
    await expect(open(address('?target_session_attrs=standby'), 'read')).rejects.toMatchObject({
      more: [expect.stringMatching(/is not a standby server/)],
    });
    await open(address('?target_session_attrs=prefer-standby'), 'read');
    await expect(open(address('?target_session_attrs=any'), 'write')).rejects.toMatchObject(
      refusal('output', /is read-only/),
    );
  });

  test('fleet finds a PostgreSQL server through a service file', async () => {
    const url = new URL(await newPostgres());
    const file = join(folder, 'service.conf');
    writeFileSync(
      file,
      `[other]\nhost=nowhere\n[bikes]\nhost=127.0.0.1\nport=${url.port}\nuser=postgres\ndbname=${url.pathname.slice(1)}\n`,
    );
    const env = { PGSERVICEFILE: file, PGSERVICE: 'bikes', PGPORT: '1' };
    const database = await open('postgres:///', 'read', env);
    expect(await database.all('select current_database() as name')).toEqual([
      { name: url.pathname.slice(1) },
    ]);
  });
});
