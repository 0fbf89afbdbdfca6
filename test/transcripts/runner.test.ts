// Tests the runner of the transcripts itself with transcripts that are right and wrong.

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { FORMS } from '../support/transcripts/forms.js';
import { parseTranscript } from '../support/transcripts/parse.js';
import { readPlainLine } from '../support/transcripts/plain-line.js';
import { reconcile } from '../support/transcripts/reconcile.js';
import { runTranscript } from '../support/transcripts/transcript.js';

function write(body: string, service = 'none'): string {
  return `---\nservice: ${service}\n---\n# A title\n\n${body}`;
}

function session(...lines: string[]): string {
  return `\`\`\`console\n${lines.join('\n')}\n\`\`\`\n`;
}

const check = (text: string) => runTranscript(parseTranscript('a.md', text), 'check');
const update = (text: string) => runTranscript(parseTranscript('a.md', text), 'update');

const ECHO = session(
  '$ echo "one $HOME"',
  'one <home>',
  '$ echo two >&2; exit 3',
  '! two',
  'exit 3',
);

describe('a transcript', () => {
  test('a transcript passes and stays unchanged when its output matches', async () => {
    const text = write(ECHO);
    expect(await check(text)).toBe(text);
    expect(await update(text)).toBe(text);
  });

  test.each([
    ['stdout', 8, 'one <home>', 'one <home> more'],
    ['stderr', 10, '! two', '! three'],
    ['the stream', 10, '! two', 'two'],
    ['the exit code', 11, 'exit 3\n```', 'exit 4\n```'],
    ['a missing exit code', 11, 'exit 3\n```', '```'],
    ['an additional line', 12, 'exit 3\n```', 'exit 3\nmore\n```'],
  ])(
    'a transcript fails when %s differs, and an update corrects it',
    async (_what, line, right, wrong) => {
      const text = write(ECHO);
      const changed = text.replace(right, wrong);
      await expect(check(changed)).rejects.toThrow(`a.md:${line}: `);
      expect(await update(changed)).toBe(text);
    },
  );

  test('the error shows the file, the differing line and the command', async () => {
    const text = write(session('$ fleet --version', '<version>', '$ fleet nonsense', 'exit 2'));
    await expect(check(text)).rejects.toThrow(
      'a.md:10: the output differs after: $ fleet nonsense',
    );
  });

  test('the error shows how to accept the new output', async () => {
    const text = write(session('$ echo two', 'one'));
    await expect(check(text)).rejects.toThrow('npm run transcripts -- --update a.md');
  });

  test('the error names a value that does not have the form of its placeholder', async () => {
    const text = write(session('$ echo run 6fc7 done', 'run <pid run> done'));
    await expect(check(text)).rejects.toThrow('6fc7 does not have the form of <pid run>: ');
  });

  test('the error names a value that differs from the value of its placeholder', async () => {
    const text = write(session('$ echo 1; echo 2', '<pid run>', '<pid run>'));
    await expect(check(text)).rejects.toThrow('2 differs from the value of <pid run>: 1');
  });

  test('a check and an update name an unknown placeholder', async () => {
    const text = write(session('$ echo run 6fc7 done', 'run <hsh run> done'));
    await expect(check(text)).rejects.toThrow('<hsh run> is not a placeholder. Forms: age, ');
    await expect(update(text)).rejects.toThrow('a.md:8: <hsh run> is not a placeholder. Forms: ');
  });

  test('runs several terminals, and waits for the output of each step', async () => {
    const text = write(
      session(
        '[first] $ echo one; sleep 1000',
        'one',
        '[second] $ echo two',
        'two',
        '[first] ^C',
        'exit 130',
        '[first] $ sleep 1000',
        '[first] kill -9',
        'exit 137',
      ),
    );
    expect(await check(text)).toBe(text);
    expect(await update(text)).toBe(text);
  });

  test('an update adds the output of each terminal to a transcript', async () => {
    const lines = [
      '[first] $ echo one; sleep 1000',
      'one',
      '[second] $ echo two',
      'two',
      '[first] ^C',
      'exit 130',
    ];
    const isInput = (line: string) => line.startsWith('[');
    const text = write(session(...lines.filter(isInput)));
    expect(await update(text)).toBe(write(session(...lines)));
  });

  test('an update of a transcript keeps late output in the step that caused it', async () => {
    const text = write(
      session(
        '[first] $ sleep 2; echo one; echo two; sleep 1000',
        'one',
        '[first] ^C',
        'two',
        'exit 130',
      ),
    );
    expect(await update(text)).toBe(text);
  });

  test('passes the lines of a here-document to stdin', async () => {
    const text = write(
      session("$ cat - <<'EOF' | tr a-z A-Z", '> one', '>', '> $x', '> EOF', 'ONE', '', '$X'),
    );
    expect(await check(text)).toBe(text);
  });

  test('creates the files that file blocks describe', async () => {
    const text = write(
      `The file \`a.csv\`:\n\n\`\`\`csv file=a.csv\none\n\`\`\`\n\n${session('$ cat a.csv', 'one')}`,
    );
    expect(await check(text)).toBe(text);
  });

  test('a backslash marks output that looks like input', async () => {
    const text = write(
      session(
        "$ printf '%s' '$ x'",
        '\\$ x',
        '\\ no newline at the end',
        "$ echo '… 2 more lines'",
        '\\… 2 more lines',
      ),
    );
    expect(await check(text)).toBe(text);
    expect(await update(text)).toBe(text);
  });

  test('checks the number of omitted lines', async () => {
    const text = write(session('$ seq 9', '1', '… 7 more lines', '9'));
    expect(await check(text)).toBe(text);
    const wrong = text.replace('7 more', '6 more');
    await expect(check(wrong)).rejects.toThrow('a.md:9: the output differs after: $ seq 9');
    expect(await update(wrong)).toBe(text);
  });

  test('a terminal shows its screen output and accepts typed keys', async () => {
    const text = write(
      session(
        `[me] $ printf 'old\\rnew\\n'; echo x >&2; read -p 'Name? ' name; echo "hello $name"; exit 3`,
        'new',
        'x',
        'Name?',
        '[me] < Ada',
        'Name? Ada',
        'hello Ada',
        'exit 3',
      ).replace('console', 'console terminal=40x10'),
    );
    expect(await check(text)).toBe(text);
    expect(await update(text)).toBe(text);
    await expect(check(text.replace('hello', 'bye'))).rejects.toThrow('a.md:13: ');
  });

  test('shows the output of `fleet` on a terminal', async () => {
    const text = write(
      session('$ fleet bicycles list --columns name').replace('console', 'console terminal=30x10'),
      'sandbox --bicycles 1',
    );
    expect(await update(text)).toContain('--columns name\nNAME\n');
  });

  test('a later command can use the value of a named placeholder', async () => {
    const uuid = '00000000-0000-4000-8000-000000000001';
    const text = write(
      session(`$ echo ${uuid}`, '<uuid bike>', '$ echo <uuid bike>', '<uuid bike>'),
    );
    expect(await check(text)).toBe(text);
    const early = write(session('$ echo <uuid bike>', '<uuid bike>'));
    await expect(check(early)).rejects.toThrow('<uuid bike> has no value');
  });

  test('a receiver shows its webhooks and responds as the transcript specifies', async () => {
    const curl = "$ curl -s -o answer -w '%{http_code}' -d hello <receiver>/in";
    const posted = ['$ receiver requests', 'POST /in'];
    const form = ['content-type: application/x-www-form-urlencoded', 'hello'];
    const end = '\\ no newline at the end';
    const text = write(
      session('$ receiver answers 503 204', curl, '503', end, curl, '204', end) +
        session(...posted, ...form, ...posted.slice(1), ...form),
    );
    expect(await check(text)).toBe(text);
    expect(await update(text)).toBe(text);
  });

  test('waits until a watch has read the list', async () => {
    const text = write(
      session(
        "$ fleet api '/bicycles/?page_size=1' --jq .count",
        '5',
        "[watch] $ fleet watch --max-events 1 --where 'name=Emmy 0001'",
        '! <time> watching /a087eaf3-00b3-49c9-8706-c4ebfb2627fd/admin/bicycles/*',
        '$ service wait /bicycles/',
        `$ service publish '/a087eaf3-00b3-49c9-8706-c4ebfb2627fd/admin/bicycles/*' bicycle '{"uuid":"d238dc92-4ed5-4cec-a476-fe5f869ff26e","state_of_charge":7}'`,
        '[watch]',
        '2026-06-01T12:00:00.000Z  Emmy 0001         charge -70.1 %  7  52.519589, 13.369766',
        '! watched for <duration>: 1 message, 0 reconnects, no gaps',
      ),
      'sandbox --bicycles 5 --fault latency=300ms\nsettings: profile',
    );
    expect(await update(text)).toBe(text);
    expect(await check(text)).toBe(text);
  });

  test('names the behaviours of a hostile service', async () => {
    const text = write(session('$ fleet bicycles list'), 'hostile nonsense');
    await expect(check(text)).rejects.toThrow(
      'unknown behaviour: nonsense; behaviours: honest, gzipLie, ',
    );
  });

  test('shows the requests to a service and the responses', async () => {
    const answers = '```http\n> GET /bicycles/\n< 403\n{"detail": "not you"}\n```\n\n';
    const text = write(
      answers +
        session(
          '$ fleet api /bicycles/',
          '{"detail": "not you"}',
          '! error: not allowed: not you',
          'exit 4',
          '$ service requests',
          'GET /bicycles/',
        ),
      'answers',
    );
    const real = await update(text);
    expect(real).toContain('not you');
    expect(real).toContain('\nexit 4\n$ service requests\nGET /bicycles/\n');
  });
});

describe('a service', () => {
  test('a transcript can create tokens and shows the token of each request', async () => {
    const text = write(
      session(
        '$ service token ends=30m',
        '<token half>',
        '$ fleet bicycles list --count',
        '1',
        '$ FLEET_TOKEN=<token half> fleet bicycles list --count',
        '1',
        '$ service requests tokens',
        'GET /bicycles/ (JWT <token>)',
        'GET /bicycles/ (JWT <token half>)',
      ),
      'sandbox --bicycles 1',
    );
    expect(await check(text)).toBe(text);
    expect(await update(text)).toBe(text);
  });

  test('the service and the commands share a clock that a transcript can advance', async () => {
    const text = write(
      session(
        '$ service token ends=30m role=admin',
        '<token half>',
        '$ export FLEET_TOKEN=<token half>',
        '$ fleet auth status | grep expires',
        'expires       in 30 min (2026-06-01T12:30:00.000Z)',
        '$ clock forward 20m',
        '$ fleet auth status | grep expires',
        'expires       in 10 min (2026-06-01T12:30:00.000Z)',
        '$ FLEET_BASE_URL=http://127.0.0.1:1 fleet auth status',
        'profile       default',
        'address       http://127.0.0.1:1',
        'push address  -',
        'organization  -',
        'token         FLEET_TOKEN',
        'expires       in 10 min (2026-06-01T12:30:00.000Z)',
        'claim role    admin',
        'claim exp     1780317000',
      ),
    );
    expect(await check(text)).toBe(text);
  });
});

describe("a mistake in a transcript's format", () => {
  test.each([
    ['# A title\n', 'begins with "---"'],
    ['---\nclock: still\n---\n# A title\n', 'must name the service'],
    ['---\nservice: none\nother: 1\n---\n# A title\n', 'unknown field: other'],
    ['---\nservice: none\n---\ntext\n', 'needs a title'],
    [write('```console\n$ x\n'), 'has no end'],
    [write(session('text')), 'a session begins with'],
    [write(session("$ cat <<'EOF'", 'text')), 'the command does not end'],
    [write(session('[watch] $ cat', '[watch] ^X')), 'after "[watch] " must come "$ …", "^C"'],
    [write('Text.\n\n```csv file=a.csv\n```\n'), 'must name the file'],
  ])('reports the mistake in %j', (text, message) => {
    expect(() => parseTranscript('a.md', text)).toThrow(message);
  });
});

describe('placeholders', () => {
  const UUID = '00000000-0000-4000-8000-000000000001';
  const OTHER = '00000000-0000-4000-8000-000000000002';

  test.each(Object.entries(FORMS))(
    'the placeholder <%s> does not match every string',
    (_name, form) => {
      for (const text of ['', 'any text', '-', '!'])
        expect(new RegExp(`^(?:${form})$`).test(text)).toBe(false);
    },
  );

  test.each([
    [['<uuid>'], [UUID], ['<uuid>']],
    [['<uuid>'], ['other'], ['other']],
    [['a <age>'], ['b 3 min ago'], ['b <age>']],
    [
      [`bicycle ${UUID} was not found (request <uuid>)`],
      [`bicycle ${UUID} is unknown (request ${OTHER})`],
      [`bicycle ${UUID} is unknown (request <uuid>)`],
    ],
    [['Emmy 0001 <pid run> done'], ['Emmy 0001 6fc7 done'], ['Emmy 0001 6fc7 done']],
    [['bicycle <uuid> was locked'], [`ride of ${UUID} has begun`], [`ride of ${UUID} has begun`]],
    [['"uuid":"<uuid>","a":1'], [`"uuid":"${UUID}","a":2`], ['"uuid":"<uuid>","a":2']],
    [['<pid a>  <pid b>  one'], ['11   22  two'], ['<pid a>   <pid b>  two']],
    [['<uuid a> <uuid a>'], [`${UUID} ${UUID}`], ['<uuid a> <uuid a>']],
    [['<n>'], ['<n>'], ['<n>']],
    [
      ['one', '<age>', 'two'],
      ['<new>', 'just now'],
      ['<new>', '<age>'],
    ],
  ])('updating the placeholders %j with the output %j produces %j', (expected, actual, updated) => {
    expect(reconcile(expected, actual, new Map())).toEqual(updated);
  });

  test('placeholders with the same name must have the same value', () => {
    const values = new Map<string, string>();
    const other = UUID.replace('1', '2');
    expect(reconcile(['<uuid a>', '<uuid a>'], [UUID, other], values)).toEqual(['<uuid a>', other]);
  });
});

describe('command lines', () => {
  test.each([
    ['fleet bicycles list', [['fleet', 'bicycles', 'list']]],
    [`fleet x 'a | b' "c  d"`, [['fleet', 'x', 'a | b', 'c  d']]],
    [
      'fleet a - | fleet b',
      [
        ['fleet', 'a', '-'],
        ['fleet', 'b'],
      ],
    ],
    ["fleet a - <<'EOF'", [['fleet', 'a', '-']]],
    ['fleet a # words', [['fleet', 'a']]],
  ])('the command line %s runs in the test process', (line, words) => {
    expect(readPlainLine(line)?.map((command) => command.words)).toEqual(words);
  });

  test.each([
    'fleet a > b',
    'fleet a && fleet b',
    'fleet "$X"',
    'fleet a || b',
    'fleet ~/a',
    'fleet *',
    'fleet a &',
  ])('the command line %s needs a shell', (line) => {
    expect(readPlainLine(line)).toBeUndefined();
  });
});

test('no two transcripts have the same title', () => {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const titles = files
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => parseTranscript(name, readFileSync(`${folder}/${name}`, 'utf8')).title);
  expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([]);
});
