// Tests completion: the offered values, the cache of bicycles, --install, and real shells.

import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ALERT_STATES, ALERT_TYPES } from '../../src/api/alert.js';
import { SENDERS } from '../../src/api/push.js';
import { TRANSITIONS } from '../../src/api/transitions.js';
import { pathOf } from '../../src/cli/help.js';
import { splitLine } from '../../src/cli/split.js';
import { FleetError } from '../../src/errors.js';
import type { Sandbox } from '../../src/sandbox/index.js';
import { KEY_NAMES } from '../../src/settings/keys.js';
import { saveProfile, saveToken, useProfile } from '../../src/settings/store.js';
import { type Clock, systemClock } from '../../src/system/clock.js';
import { FORMATS } from '../../src/terminal/formats.js';
import { newFolder } from '../support/folder.js';
import { everyCommand } from '../support/pages.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { openSandbox, useSandbox } from '../support/sandbox.js';
import { openServer } from '../support/server.js';
import { AT_ONCE, type Home, makeHome, runLine, type Step } from '../support/shell.js';
import { hasTool } from '../support/tools.js';
import { typing } from '../support/typing.js';

const service = useSandbox({ bicycles: 30 });
const BICYCLE = 'd238dc92-4ed5-4cec-a476-fe5f869ff26e';

let folder: string;

beforeEach(() => {
  folder = newFolder();
});

async function settle(sandbox: Sandbox, settings = folder): Promise<void> {
  const place = {
    folder: settings,
    configPath: join(settings, 'config.json'),
    credentialsPath: join(settings, 'credentials.json'),
  };
  const organization = sandbox.organizations[0]?.uuid;
  await saveProfile(place, 'sandbox', {
    base_url: sandbox.baseUrl,
    sse_url: sandbox.sseUrl,
    organization,
  });
  await saveProfile(place, 'berlin', {});
  await saveToken(place, 'sandbox', await sandbox.token());
  await useProfile(place, 'sandbox');
}

/**
 * The shell waits a hundred times as long here, so that a busy machine does not change the result.
 */
const PATIENT: Clock = {
  ...systemClock(),
  after: (pauseMs, action) => systemClock().after(100 * pauseMs, action),
};

function complete(words: readonly string[], env: NodeJS.ProcessEnv = {}, clock = PATIENT) {
  return runFleet(['__complete', '--', ...words], {
    env: { FLEET_CONFIG_DIR: folder, ...env },
    clock,
  });
}

/**
 * Returns the values and descriptions for the end of a line, and the instructions for the shell.
 */
async function offers(line: string, env: NodeJS.ProcessEnv = {}, clock = PATIENT) {
  const run = await complete(splitLine(line).slice(1), env, clock);
  expect([run.code, run.stderr]).toEqual([0, '']);
  const lines = run.stdout.split('\n');
  expect(lines.pop()).toBe('');
  const besides = lines.pop()?.slice(1) ?? '';
  const pairs = lines.map((one) => one.split('\t'));
  return {
    values: pairs.map(([value = '']) => value),
    descriptions: pairs.map(([, told = '']) => told),
    besides,
  };
}

describe('completion values', () => {
  it.each<[string, readonly string[]]>([
    ['fleet bi', ['bicycles']],
    ['fleet bicycles ', ['list', 'get', 'history', 'stats', 'edit', 'create', 'act']],
    ['fleet bikes l', ['list']],
    ['fleet profile ', ['list', 'use', 'delete']],
    ['fleet bicycles list -o ', ['table', 'wide', ...FORMATS.slice(1)]],
    ['fleet bicycles list --output=j', ['--output=json', '--output=jsonl']],
    ['fleet --output j', ['json', 'jsonl']],
    ['fleet alerts list --state ', ALERT_STATES],
    ['fleet alerts list --state new,s', ['new,stopped', 'new,silenced']],
    ['fleet alerts list --type lock', ALERT_TYPES.filter((type) => type.startsWith('lock'))],
    ['fleet bicycles list --ordering sta', ['state', 'state_of_charge']],
    ['fleet bicycles list --ordering -modi', ['-modified']],
    ['fleet alerts list --ordering alert', ['alert_type']],
    ['fleet bicycles list --columns name,sta', ['name,state_of_charge', 'name,state']],
    ['fleet bicycles list --where latest', ['latest_gps_accuracy=', 'latest_gps_timestamp=']],
    ['fleet bicycles list --where state=re', ['state=reserved', 'state=rented', 'state=retired']],
    ['fleet watch --until state!=l', ['state!=lost']],
    ['fleet watch --sender ', SENDERS],
    ['fleet bicycles list --lim', ['--limit']],
    [
      'fleet bicycles list --no-',
      ['--no-truncate', '--no-headers', '--no-mirror', '--no-input', '--no-color'],
    ],
    [`fleet bicycles act ${BICYCLE} re`, ['rent', 'return', 'retire', 'reserve']],
    [`fleet bicycles act ${BICYCLE} `, TRANSITIONS],
    ['fleet bicycles act - take', ['take_over']],
    ['fleet config get ', KEY_NAMES],
    ['fleet config set output cs', ['csv']],
    ['fleet config set protected ', ['true', 'false']],
    ['fleet config set read_only ', ['true', 'false']],
    ['fleet completion ', ['bash', 'zsh', 'fish', 'powershell']],
    ['fleet help bicycles ', ['list', 'get', 'history', 'stats', 'edit', 'create', 'act']],
    ['fleet help exit', ['exit-codes']],
    ['fleet api /b', ['/bicycles/']],
    ['fleet api /bicycles/ -X P', ['POST', 'PUT', 'PATCH']],
    ['fleet sandbox --fault dr', ['drop=30s']],
    ['fleet nonsense ', []],
    ['fleet bicycles list --limit ', []],
  ])('for %s', async (line, wanted) => {
    expect((await offers(line)).values).toEqual(wanted);
  });

  it('completes profiles and organizations from the settings', async () => {
    await settle(service());
    expect(await offers('fleet bicycles list --profile ')).toMatchObject({
      values: ['sandbox', 'berlin'],
    });
    expect((await offers('fleet profile use s')).values).toEqual(['sandbox']);
    const known = service().organizations;
    expect(await offers('fleet watch ')).toMatchObject({
      values: known.map(({ uuid }) => uuid),
      descriptions: known.map(({ name }) => name),
    });
  });

  it('tells the shell when to complete file names and omit the trailing space', async () => {
    expect((await offers('fleet bicycles create --from ')).besides).toBe('files');
    expect((await offers('fleet bicycles list --where na')).besides).toBe('nospace');
    expect((await offers('fleet bicycles l')).besides).toBe('');
  });

  it('shows a description for commands and flags', async () => {
    const { values, descriptions } = await offers('fleet ');
    expect(descriptions[values.indexOf('doctor')]).toBe(
      'find out what is wrong with settings, network or service',
    );
    expect(values).not.toContain('__complete');
  });

  it('offers values for every flag with a fixed list of values', async () => {
    const without: string[] = [];
    for (const command of everyCommand()) {
      for (const option of command.options) {
        if (!refusesAsUnknown(option.parseArg)) continue;
        const { values } = await offers(`${pathOf(command)} ${option.long} `);
        if (values.length === 0) without.push(`${pathOf(command)} ${option.long}`);
      }
    }
    expect(without).toEqual([]);
  });
});

function refusesAsUnknown(parse: ((text: string, before: never) => unknown) | undefined): boolean {
  try {
    parse?.('zzzzzzzz', undefined as never);
    return false;
  } catch (error) {
    return error instanceof FleetError && error.message.startsWith('unknown ');
  }
}

describe('splitting the command line for completion', () => {
  it.each([
    ['fleet bi', ['fleet', 'bi']],
    ['fleet ', ['fleet', '']],
    [`fleet x --where 'state = lost`, ['fleet', 'x', '--where', 'state = lost']],
    ['fleet a\\ b "c d" e', ['fleet', 'a b', 'c d', 'e']],
    ['ls | fleet al', ['fleet', 'al']],
    ['x=$(fleet al', ['fleet', 'al']],
    // The script for PowerShell passes the line in this form.
    [`'fleet' 'a b' 'it'\\''s' 'C:\\x' ''`, ['fleet', 'a b', "it's", 'C:\\x', '']],
  ])('%s', (line, words) => expect(splitLine(line)).toEqual(words));
});

describe('completion of bicycles', () => {
  it('completes UUIDs with their names and states after a single request', async () => {
    const sandbox = await openSandbox({ bicycles: 30, pageSize: 100 });
    await settle(sandbox);
    const first = await offers('fleet bicycles act ');
    const bicycles = sandbox.bicycles(sandbox.organizations[0]?.uuid);
    expect([...first.values].sort()).toEqual(bicycles.map(({ uuid }) => uuid).sort());
    const [uuid = ''] = first.values;
    const { name, state } = sandbox.bicycle(uuid) ?? {};
    expect(first.descriptions[0]).toBe(`${name}, ${state}`);
    expect(sandbox.requests).toHaveLength(1);
    expect(await offers(`fleet bicycles act ${uuid.slice(0, 8)}`)).toMatchObject({
      values: [uuid],
    });
    expect(
      (await offers(`fleet bicycles act ${uuid} ${first.values[1]?.slice(0, 6)}`)).values,
    ).toContain(first.values[1]);
  });

  it.each(['observed', 'interface'] as const)(
    'finds UUID prefixes in a large fleet: %s',
    async (kind) => {
      const sandbox = await openSandbox({ bicycles: 300, service: kind });
      await settle(sandbox);
      const all = sandbox.bicycles(sandbox.organizations[0]?.uuid);
      for (const command of [
        'bicycles act',
        'bicycles get',
        'bicycles edit',
        'alerts list --bicycle',
        'watch --bicycle',
      ]) {
        const first = await offers(`fleet ${command} `);
        expect(first.values).toHaveLength(50);
      }
      // The bicycle with the oldest change is not in the cache.
      const kept = (await offers('fleet bicycles get ')).values;
      const { uuid = '' } = all.filter((one) => !kept.includes(one.uuid)).at(-1) ?? {};
      const digits = await offers(`fleet bicycles get ${uuid.slice(0, 6)}`);
      expect(digits.values).toEqual(
        all.filter((one) => one.uuid.startsWith(uuid.slice(0, 6))).map((one) => one.uuid),
      );
      const few = await offers(`fleet bicycles get ${uuid.slice(0, 1)}`);
      const wanted = all.map((one) => one.uuid).filter((one) => one.startsWith(uuid.slice(0, 1)));
      expect(few.values).toEqual(wanted.sort().slice(0, 50));
    },
  );

  it('shell completion uses the selected profile and token', async () => {
    await settle(service());
    expect((await offers('fleet bicycles act ')).values).not.toEqual([]);
    expect((await offers('fleet --profile berlin bicycles act ')).values).toEqual(TRANSITION_FLAGS);
    // Another token may see another fleet, so the cache of the first one is not used.
    expect((await offers('fleet bicycles act ', { FLEET_TOKEN: 'another' })).values).toEqual(
      TRANSITION_FLAGS,
    );
  });

  /** Without bicycles, the flags of the command are offered. */
  const TRANSITION_FLAGS = expect.arrayContaining(['--dry-run', '--yes']);

  it.each<[string, (folder: string) => Promise<NodeJS.ProcessEnv>]>([
    ['a token command', async (at) => ({ FLEET_TOKEN_COMMAND: `touch ${at}/ran; echo token` })],
    [
      'a broken file of settings',
      async (at) => {
        await writeFile(join(at, 'config.json'), '{');
        return {};
      },
    ],
    ['no settings', async (at) => ({ FLEET_CONFIG_DIR: join(at, 'nowhere') })],
    ['a service that is down', async () => ({ FLEET_BASE_URL: 'http://127.0.0.1:1' })],
    ['an address without encryption', async () => ({ FLEET_BASE_URL: 'http://192.0.2.1' })],
  ])('shell completion offers no bicycles and prints no error with %s', async (_what, prepare) => {
    await settle(service());
    const env = await prepare(folder);
    const before = service().requests.length;
    expect((await offers('fleet bicycles act ', env)).values).toEqual(TRANSITION_FLAGS);
    expect(service().requests).toHaveLength(before);
    await expect(stat(join(folder, 'ran'))).rejects.toThrow('ENOENT');
  });

  it('completion sends no token to a URL given with --base-url', async () => {
    await settle(service());
    const { url, asked } = await openServer((response) => void response.end('[]'));
    await offers(`fleet --base-url ${url} bicycles act `);
    expect(asked).toEqual([]);
  });

  it('shell completion does not wait for a slow service', async () => {
    await settle(service());
    const { url } = await openServer(() => {});
    // Without its own limit, the request would outlast the test.
    const env = { FLEET_BASE_URL: url, FLEET_TIMEOUT: '600' };
    const { values } = await offers('fleet bicycles act ', env, systemClock());
    expect(values).toEqual(TRANSITION_FLAGS);
  });

  it('drops names and UUIDs that contain shell syntax or control characters', async () => {
    await settle(service());
    const { url } = await openServer((response) => {
      response.setHeader('content-type', 'application/json');
      const name = '\u001b]0;x\u0007`rm -rf`\n$(id)\t:x';
      response.end(
        JSON.stringify([{ uuid: BICYCLE, name }, { uuid: '$(touch x)', name: 'x' }, { uuid: 7 }]),
      );
    });
    const { values, descriptions } = await offers('fleet bicycles act ', { FLEET_BASE_URL: url });
    expect(values).toEqual([BICYCLE]);
    expect(descriptions[0]).toBe('␛]0;x␇`rm -rf`␊$(id)␉:x');
  });
});

describe('completion of a partial name', () => {
  it.each(['observed', 'interface'] as const)(
    'offers names of bicycles in any case, and UUIDs for unsafe names (%s)',
    async (kind) => {
      const sandbox = await openSandbox({ bicycles: 30, service: kind });
      await settle(sandbox);
      const [one, two, three] = sandbox.bicycles(sandbox.organizations[0]?.uuid);
      for (const [bicycle, name] of [
        [one, 'Quokka 0001'],
        [two, 'Quokka 0002'],
        [three, 'Quo$(id) 3'],
      ] as const)
        sandbox.changeBicycle(bicycle?.uuid ?? '', { name });
      expect((await offers('fleet bicycles get "Quokka 0')).values.sort()).toEqual([
        'Quokka 0001',
        'Quokka 0002',
      ]);
      expect((await offers('fleet alerts list --bicycle quokka\\ 0002')).values).toEqual([
        'Quokka 0002',
      ]);
      expect((await offers('fleet bicycles act Quo$')).values).toEqual([three?.uuid]);
      expect((await offers('fleet bicycles get Nobody')).values).toEqual([]);
    },
  );

  it('completes names of organizations, zones and models', async () => {
    await settle(service());
    const { organizations, zones, models } = service();
    for (const [flag, all] of [
      ['--organization', organizations],
      ['--zone', zones],
      ['--model', models],
    ] as const) {
      const { name = '' } = all[0] ?? {};
      const start = name.slice(0, -1).toUpperCase();
      expect((await offers(`fleet bicycles list ${flag} "${start}`)).values).toContain(name);
    }
  });
});

describe('`completion --install`', () => {
  const fleet = (line: string, options: RunOptions = {}) =>
    runFleet(line.split(' '), { ...options, env: { HOME: folder, NO_COLOR: '1', ...options.env } });

  async function writeStart(file: string, text: string | Buffer): Promise<void> {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }

  it('the PowerShell script contains only ASCII characters', async () => {
    expect((await fleet('completion powershell')).stdout).toMatch(/^[\n\x20-\x7e]+$/);
  });

  it('does not change a PowerShell profile in UTF-16', async () => {
    await writeStart('.config/powershell/profile.ps1', Buffer.from('\uFEFFls\n', 'utf16le'));
    const run = await fleet('completion powershell --install --yes');
    expect([run.code, run.stderr]).toEqual([10, expect.stringContaining('profile.ps1 is UTF-16')]);
  });

  const STARTS = [
    ['bash', '.bashrc'],
    ['zsh', '.zshrc'],
    ['fish', '.config/fish/completions/fleet.fish'],
    ['powershell', '.config/powershell/profile.ps1'],
  ] as const;

  it.each(STARTS)(
    '--install announces its change and edits the shell profile only once: %s',
    async (shell, file) => {
      await writeStart(file, 'alias ll="ls -l"');
      const run = await fleet(`completion ${shell} --install --yes`);
      expect([run.code, run.stderr]).toEqual([
        0,
        expect.stringContaining(`this adds a line to ${join(folder, file)}: `),
      ]);
      const lines = (await readFile(join(folder, file), 'utf8')).split('\n');
      expect(lines).toEqual([
        'alias ll="ls -l"',
        expect.stringContaining(`fleet completion ${shell}`),
        '',
      ]);
      expect(await fleet(`completion ${shell} --install`)).toEqual({
        code: 0,
        stdout: '',
        stderr: `completion for ${shell} is already installed in ${join(folder, file)}\n`,
      });
    },
  );

  it.each([
    ['y\r', 'is installed'],
    ['\r', 'nothing was changed'],
  ])('asks for confirmation on a terminal even with --quiet: %j', async (keys, said) => {
    const run = await fleet('completion fish --install', typing([['y/N', keys]]));
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('this adds a line to ')]);
    expect(run.stderr).toContain(said);
    await expect(stat(join(folder, '.config')))
      .rejects.toSatisfy(() => keys === '\r')
      .catch(() => {});
  });

  it('requires --yes when stdin is not a terminal', async () => {
    const run = await fleet('completion bash --install');
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining('hint: add --yes to skip the question'),
    ]);
    await expect(stat(join(folder, '.bashrc'))).rejects.toThrow('ENOENT');
  });

  it.each(STARTS)('%s: --uninstall restores the previous file', async (shell, file) => {
    const before = 'alias ll="ls -l"\nexport EDITOR=vi\n';
    await writeStart(file, before);
    await fleet(`completion ${shell} --install --yes`);
    expect((await fleet(`completion ${shell} --uninstall`)).code).toBe(2);
    const run = await fleet(`completion ${shell} --uninstall --yes`);
    expect([run.code, run.stderr]).toEqual([
      0,
      expect.stringContaining(`completion for ${shell} is removed`),
    ]);
    expect(await readFile(join(folder, file), 'utf8')).toBe(before);
    const again = await fleet(`completion ${shell} --uninstall`);
    expect([again.code, again.stderr]).toEqual([0, `completion for ${shell} is not installed\n`]);
  });

  it('--uninstall deletes a file that contains only the completion', async () => {
    await fleet('completion fish --install -y');
    await fleet('completion fish --uninstall -y');
    await expect(stat(join(folder, '.config/fish/completions/fleet.fish'))).rejects.toThrow(
      'ENOENT',
    );
    await writeFile(join(folder, 'file'), '');
    const run = await fleet('completion fish --install -y', {
      env: { XDG_CONFIG_HOME: join(folder, 'file') },
    });
    expect([run.code, run.stderr]).toEqual([
      10,
      expect.stringContaining('hint: add the line to the file yourself'),
    ]);
  });
});

describe.runIf(hasTool('script'))('completion in real shells', () => {
  let home: Home;

  beforeEach(async () => {
    home = await makeHome();
    await settle(service(), join(home.folder, 'settings'));
  });

  /** Types into an interactive shell step by step and returns everything on the screen. */
  async function typeInto(shell: string, start: string, steps: readonly Step[]): Promise<string> {
    const line = `stty cols 120; PS1='> ' exec ${shell}`;
    const leave = { when: AT_ONCE, press: '\u0015exit\r' };
    const all = [{ when: /[>#%$] ?/, press: `${start}; echo rea''dy\r` }, ...steps, leave];
    const { text } = await runLine(home, line, { isTerminal: true, steps: all });
    return text.replace(/\u001b\[[\d;?]*[A-Za-z]/g, '');
  }

  const BASH_START =
    "bind 'set show-all-if-ambiguous on'; bind 'set bell-style none'; source <(fleet completion bash)";
  const ZSH_START =
    'autoload -Uz compinit; compinit -u -D; LISTMAX=1000; source <(fleet completion zsh)';
  const TAB = '\t';

  it('bash completes commands, flags, values after = and lists of states', async () => {
    const text = await typeInto('bash --norc --noprofile -i', BASH_START, [
      { when: /ready\r/, press: `fleet bicy${TAB}` },
      { when: /fleet bicycles /, press: `li${TAB}` },
      { when: /list /, press: `--output=geo${TAB}` },
      { when: /--output=geojson /, press: '\u0015' },
      { when: AT_ONCE, press: `fleet alerts list --type lock.n${TAB}` },
      { when: /lock\.no_tracking /, press: `--state new,res${TAB}` },
      { when: /new,resolved /, press: '' },
    ]);
    expect(text).toContain('new,resolved ');
  });

  it('bash lists UUIDs with names and completes the only match', async () => {
    const [bicycle] = service().bicycles(service().organizations[0]?.uuid);
    const text = await typeInto('bash --norc --noprofile -i', BASH_START, [
      { when: /ready\r/, press: `fleet bicycles act ${TAB}` },
      {
        when: new RegExp(`\\(${bicycle?.name}, ${bicycle?.state}\\)`),
        meanwhile: TAB,
        press: `${bicycle?.uuid.slice(0, 8)}${TAB}`,
      },
      { when: new RegExp(`${bicycle?.uuid} `), meanwhile: TAB, press: `take${TAB}` },
      { when: /take_over /, press: '' },
    ]);
    expect(text).toContain('take_over ');
  });

  it('bash completes a partial name, with and without quotes', async () => {
    const sandbox = await openSandbox({ bicycles: 30 });
    await settle(sandbox, join(home.folder, 'settings'));
    const [one, two] = sandbox.bicycles(sandbox.organizations[0]?.uuid);
    sandbox.changeBicycle(one?.uuid ?? '', { name: 'Quokka 0001' });
    sandbox.changeBicycle(two?.uuid ?? '', { name: 'Quokka 0002' });
    const zone = sandbox.zones[0]?.name ?? '';
    const text = await typeInto('bash --norc --noprofile -i', BASH_START, [
      { when: /ready\r/, press: `fleet bicycles get "Quokka 0${TAB}` },
      { when: /Quokka 0002 +\(/, meanwhile: TAB, press: `1${TAB}` },
      { when: /1" $/, meanwhile: TAB, press: '\u0015' },
      { when: AT_ONCE, press: `fleet bicycles get Quok${TAB}` },
      { when: /Quokka\\ 0002 +\(/, meanwhile: TAB, press: `2${TAB}` },
      { when: /2 $/, meanwhile: TAB, press: '\u0015' },
      { when: AT_ONCE, press: `fleet bicycles list --zone "${zone.slice(0, -1)}${TAB}` },
      { when: new RegExp(`--zone "${zone}" `), meanwhile: TAB, press: '' },
    ]);
    for (const line of ['get "Quokka 0001" ', 'get Quokka\\ 0002 ', `--zone "${zone}" `])
      expect(text).toContain(line);
  });

  it.runIf(hasTool('zsh'))(
    'zsh completes a command, a value after = and UUIDs with names',
    async () => {
      const [bicycle] = service().bicycles(service().organizations[0]?.uuid);
      const text = await typeInto('zsh -f -i', ZSH_START, [
        { when: /ready\r/, press: `fleet bicy${TAB}` },
        { when: /fleet bicycles/, press: `li${TAB}` },
        { when: /list/, press: `--output=geo${TAB}` },
        { when: /--output=geojson/, press: '\u0015' },
        { when: AT_ONCE, press: `fleet bicycles act ${TAB}` },
        { when: new RegExp(`${bicycle?.uuid} +-- ${bicycle?.name}, ${bicycle?.state}`), press: '' },
      ]);
      expect(text).toContain(`-- ${bicycle?.name}`);
    },
  );

  const FISH_OFFERS: readonly [line: string, offered: string][] = [
    ['fleet bicy', 'bicycles\tlist, create and act on bicycles'],
    ['fleet bicycles list --output=geo', '--output=geojson'],
    ['fleet alerts list --state new,res', 'new,resolved'],
    ['fleet alerts list --type lock.n', 'lock.no_tracking'],
    ['fleet profile use b', 'berlin'],
  ];
  const FISH_LINES = [...FISH_OFFERS.map(([line]) => line), 'fleet bicycles act '];
  let fish: Promise<Map<string, string>> | undefined;

  /** Returns what one fish process offers for each line. */
  async function askFish(): Promise<Map<string, string>> {
    const asks = FISH_LINES.map((line) => `complete -C '${line}'`).join('; echo; ');
    const { text } = await runLine(home, `fleet completion fish | source; ${asks}`, {
      shell: 'fish',
    });
    const offers = text.trimEnd().split('\n\n');
    return new Map(FISH_LINES.map((line, index) => [line, offers[index] ?? '']));
  }

  it.runIf(hasTool('fish')).each(FISH_OFFERS)('fish completes %s', async (line, wanted) => {
    fish ??= askFish();
    expect((await fish).get(line)?.trimEnd()).toBe(wanted);
  });

  it.runIf(hasTool('fish'))('fish lists UUIDs with names', async () => {
    fish ??= askFish();
    const [bicycle] = service().bicycles(service().organizations[0]?.uuid);
    const offered = (await fish).get('fleet bicycles act ')?.split('\n');
    expect(offered).toContain(`${bicycle?.uuid}\t${bicycle?.name}, ${bicycle?.state}`);
  });

  it('bash loads an installed completion when the next shell starts', async () => {
    expect((await runLine(home, 'fleet completion bash --install --yes')).code).toBe(0);
    const { text } = await runLine(home, 'bash -ic "complete -p fleet"');
    expect(text).toContain('-F _fleet_complete fleet');
  });
});
