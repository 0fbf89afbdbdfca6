// Tests the help pages: content, length and width, and suggestions for misspelled commands.

import { describe, expect, it } from 'vitest';
import { ALERT_STATES } from '../../src/api/alert.js';
import { BICYCLE_FIELDS, BICYCLE_STATES } from '../../src/api/bicycle.js';
import { pathOf } from '../../src/cli/help.js';
import { TOPIC_NAMES } from '../../src/cli/topics.js';
import { SYSTEM_NAMES } from '../../src/commands/gbfs/system-fields.js';
import { guideText } from '../../src/commands/help/guide.js';
import { EXIT_CODES } from '../../src/errors.js';
import { findPlace } from '../../src/settings/config-folder.js';
import { KEY_NAMES, KEYS } from '../../src/settings/keys.js';
import { saveProfile } from '../../src/settings/store.js';
import { FORMATS } from '../../src/terminal/formats.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { GUIDES, readText } from '../support/guides.js';
import { everyCommand, everyPage } from '../support/pages.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const fleet = (line: string, columns?: number) =>
  runFleet(
    line === '' ? [] : line.split(' '),
    columns === undefined ? {} : { terminal: { columns } },
  );

it('`fleet help <command>` prints the same page as `fleet <command> --help`', async () => {
  const commands = everyCommand()
    .slice(1)
    .map((command) => pathOf(command).replace('fleet ', ''))
    .filter((words) => !TOPIC_NAMES.some((topic) => topic === words));
  for (const words of commands)
    expect(await fleet(`${words} --help`)).toEqual(await fleet(`help ${words}`));
});

describe('the first help page', () => {
  it('`fleet`, `fleet --help`, `fleet -h` and `fleet help` print the first help page', async () => {
    const pages = await Promise.all(['', '--help', '-h', 'help'].map((line) => fleet(line)));
    for (const page of pages)
      expect(page).toEqual({ code: 0, stdout: pages[0]?.stdout, stderr: '' });
    const lines = pages[0]?.stdout.split('\n') ?? [];
    expect(lines[0]).toBe(
      'See and change a fleet of rental bicycles. A change is sent at most once.',
    );
    for (const noun of [
      'bicycles       list, create',
      'organizations  list organizations; also: zones',
      'auth ',
      'sandbox ',
    ])
      expect(pages[0]?.stdout).toContain(`\n  ${noun}`);
    expect(lines.length).toBeLessThanOrEqual(32);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    for (const line of ['', '--help'])
      expect(
        (await fleet(line, 60)).stdout
          .split('\n')
          .filter((one) => one.replace(/\u001b\[\d+m/g, '').length > 60),
      ).toEqual([]);
  });

  it('with --json, the first help page is a tree of all commands', async () => {
    const { code, stdout } = await fleet('--help --json');
    const tree = JSON.parse(stdout);
    const named = (name: string) =>
      tree.commands
        .flatMap((noun: { commands: unknown[] }) => [noun, ...noun.commands])
        .find((command: { name: string }) => command.name === name);
    expect([code, tree.name]).toEqual([0, 'fleet']);
    expect(named('fleet bicycles act')).toMatchObject({
      arguments: [{ required: true, variadic: true }],
      flags: expect.arrayContaining([
        expect.objectContaining({ flags: '--concurrency <n>', default: 8 }),
      ]),
      examples: expect.arrayContaining([{ meaning: expect.any(String), line: expect.any(String) }]),
    });
    for (const name of ['fleet apply', 'fleet check', 'fleet mcp', 'fleet journal undo'])
      expect(named(name)).toBeDefined();
  });

  it('the first help page has bold headings on a terminal with colors', async () => {
    expect((await fleet('', 80)).stdout).toContain(
      '\u001b[1mUsage: fleet <command> [flags]\u001b[22m',
    );
    expect((await fleet('--no-color', 80)).stdout).not.toContain('\u001b');
    expect((await fleet('help output', 80)).stdout).toContain('\u001b[1mExamples:\u001b[22m');
  });
});

/** Lines in guides that users paste are not wrapped. */
const CODE = new Set(
  GUIDES.flatMap((path) =>
    readText(path)
      .split('\n')
      .map((line) => `  ${line}`),
  ),
);
const isCode = (line: string) => CODE.has(line);

describe('every help page', () => {
  it.each([60, 80, 140])(
    'every help page fits %i columns, except for its examples',
    async (columns) => {
      const plain = (text: string) => text.replace(/\u001b\[\d+m/g, '');
      const tooWide = (await everyPage(columns)).flatMap(({ name, text }) =>
        plain(text)
          .split('\n')
          .filter(
            (line) =>
              [...line].length > columns &&
              !/^ {2}(?:# |\S*.*\bfleet\b)/.test(line) &&
              !isCode(line),
          )
          .map((line) => `${name}: ${line}`),
      );
      expect(tooWide).toEqual([]);
    },
  );

  it('every help page fits on one screen', async () => {
    const long = (await everyPage()).map(
      ({ name, text }) => [name, text.split('\n').length - 1] as const,
    );
    // Lists with the most flags are long, act lists its transitions, and guides are read page by
    // page.
    const most = (name: string) =>
      /^fleet help /.test(name)
        ? 130
        : /bicycles (?:act|edit) /.test(name)
          ? 76
          : /bicycles (list|create|edit|stats)|alerts (list|act)|watch|map|rounds|gbfs|api|sandbox/.test(
                name,
              )
            ? 64
            : 42;
    expect(long.filter(([name, lines]) => lines > most(name))).toEqual([]);
  });

  it('every help page has a one-line summary and lists the aliases', async () => {
    const commands = everyCommand().slice(1);
    expect(
      commands.filter((command) => command.summary() === '').map((command) => command.name()),
    ).toEqual([]);
    expect((await fleet('bicycles --help')).stdout).toContain('Aliases: bicycle, bikes, bike.');
    expect((await fleet('bike list --help')).stdout).toContain(
      'Usage: fleet bicycles list [flags]\n',
    );
  });

  it('every help page refers to the page with the common flags and their defaults', async () => {
    expect((await fleet('alerts list --help')).stdout).toMatch(
      /\nFlags of every command: fleet help flags\n$/,
    );
    expect((await fleet('help flags')).stdout).toMatch(
      /--retries <n> +retries of a safe request \(default: 3\)/,
    );
  });
});

describe('`fleet help`', () => {
  it.each([
    ['help bicycles list', 'Usage: fleet bicycles list'],
    ['help bike act', 'Usage: fleet bicycles act'],
    ['bicycles help act', 'Usage: fleet bicycles act'],
    ['help help', 'Usage: fleet help'],
    ['help environment', 'FLEET_TOKEN_FILE'],
  ])('`fleet help %s` prints its page', async (line, words) => {
    const run = await fleet(line);
    expect([run.code, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toContain(words);
  });

  it('`fleet help` prints every guide of docs/ as formatted text', async () => {
    expect(TOPIC_NAMES.filter((name) => name !== 'flags').sort()).toEqual(
      GUIDES.map((path) => path.replace(/^docs\/|\.md$/g, '')).sort(),
    );
    for (const topic of TOPIC_NAMES) {
      const { stdout } = await fleet(`help ${topic}`);
      expect([topic, /^[^ |#`!-]/.test(stdout), /\]\(|\*\*|^\|/m.test(stdout)]).toEqual([
        topic,
        true,
        false,
      ]);
    }
  });

  it.each<[topic: string, what: string, terms: readonly string[]]>([
    [
      'exit-codes',
      'codes',
      Object.entries(EXIT_CODES).map(([kind, code]) => `${String(code).padEnd(3)} ${kind}`),
    ],
    ['settings', 'keys', KEY_NAMES],
    ['output', 'formats', FORMATS],
    ['states', 'states', [...BICYCLE_STATES, ...ALERT_STATES]],
    ['gbfs', 'facts', SYSTEM_NAMES.filter((name) => name !== 'email' && name !== 'phone_number')],
  ])('`fleet help %s` lists all %s', async (topic, _what, terms) => {
    const { stdout } = await fleet(`help ${topic}`);
    const isListed = (term: string) =>
      stdout.includes(`\n  ${term} `) || stdout.includes(`\n  - ${term}: `);
    expect(terms.filter((term) => !isListed(term))).toEqual([]);
  });

  it('help pages list every documented field and the environment variable of every setting', async () => {
    const settings = readText('docs/settings.md');
    const variables = KEY_NAMES.flatMap((name) => KEYS[name].variable ?? []);
    expect(variables.filter((name) => !settings.includes(`\`${name}\``))).toEqual([]);
    const mirror = readText('docs/mirror.md').replace(/\s+/g, ' ');
    expect(mirror).toContain(`as sent: ${BICYCLE_FIELDS.join(', ')} - `);
  });
});

describe('suggestions for misspelled commands', () => {
  const sandbox = useSandbox({ bicycles: 5 });
  it.each([
    ['a command', 'bicyles list', 'did you mean "bicycles"?'],
    ['a verb', 'bicycles lsit', 'did you mean "list"?'],
    ['a verb without its noun', 'act x rent', 'did you mean "bicycles act"?'],
    ['a help page', 'help exitcodes', 'did you mean "exit-codes"?'],
    ["a command's help page", 'help bicycles lst', 'did you mean "list"?'],
    ['a command below one that has none', 'help gbfs feed', 'see "fleet gbfs --help"'],
    ['a flag', 'bicycles list --limt 3', 'did you mean "--limit"?'],
    ['a flag with its value', 'bicycles list --orderng=name', 'did you mean "--ordering"?'],
    ['a flag of every command', 'alerts list --profil x', 'did you mean "--profile"?'],
    [
      'a transition',
      'bicycles act d238dc92-4ed5-4cec-a476-fe5f869ff26e retrun',
      'did you mean "return"?',
    ],
    ['a state', 'alerts list --state nwe', 'did you mean "new"?'],
    ["a bicycle's state", 'bicycles list --where state=lots', 'did you mean "lost"?'],
    ['a type', 'alerts list --type lock.bat.lo', 'did you mean "lock.bat.low"?'],
    ['a field to sort by', 'bicycles list --ordering -modifed', 'did you mean "modified"?'],
    ['a format', 'bicycles list -o jsno', 'did you mean "json"?'],
    ['a column', 'bicycles list --columns naem', 'did you mean "name"?'],
    ['a profile', 'bicycles list --profile sandbx', 'did you mean "sandbox"?'],
    ['a profile to use', 'profile use sandbx', 'did you mean "sandbox"?'],
    ['a setting', 'config get base_ulr', 'did you mean "base_url"?'],
    ['a setting to set', 'config set retires 1', 'did you mean "retries"?'],
    ['a setting to unset', 'config unset timeuot', 'did you mean "timeout"?'],
    ['a format in the settings', 'config set output jsn', 'did you mean "json"?'],
    [
      'a sender',
      'watch a087eaf3-00b3-49c9-8706-c4ebfb2627fd --sender bicycel',
      'did you mean "bicycle"?',
    ],
    ['a shell', 'completion bsh', 'did you mean "bash"?'],
    ['a method', 'api /bicycles/ -X PSOT', 'did you mean "POST"?'],
  ])('%s', async (_what, line, words) => {
    const env = { ...(await environmentOf(sandbox())), FLEET_CONFIG_DIR: newFolder() };
    await saveProfile(findPlace(env), 'sandbox', { retries: 0 });
    const before = sandbox().requests.length;
    const { code, stdout, stderr } = await runFleet(line.split(' '), { env });
    const refused = line.includes('--profile') ? 3 : 2;
    expect([code, stdout, stderr]).toEqual([refused, '', expect.stringContaining(words)]);
    // The service may have additional columns, so its first page is read.
    expect(sandbox().requests.length - before).toBe(line.includes('--columns') ? 1 : 0);
  });
});

it('joins the lines of each paragraph in the printed guides', () => {
  const guide = 'One\ntwo `fleet\nwatch`.\n\n- three\n  four\n- five\n\n1. six\n   seven\n2. eight';
  expect(guideText(guide)).toBe(
    'One two "fleet watch".\n\n  - three four\n  - five\n\n  1. six seven\n  2. eight',
  );
});
