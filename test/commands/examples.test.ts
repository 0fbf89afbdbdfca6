// Runs every example of every help page, and every `fleet` line of README and guides, against a
// sandbox.
//
// The runner of the transcripts runs them: lines that are only words in this process, and the others
// with bash and the built program. Each line has its own home folder in which the profile `sandbox` is
// selected, as after `fleet sandbox`. A line that changes something has its own sandbox. An example
// exits with 0 unless the table below says otherwise.

import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { saveProfile, saveToken, useProfile } from '../../src/settings/store.js';
import { newFolder } from '../support/folder.js';
import { GUIDES, shellLines } from '../support/guides.js';
import { keepJq } from '../support/jq.js';
import { makeMirror } from '../support/made-mirror.js';
import { everyPage, examplesOf } from '../support/pages.js';
import { useSandbox, withSandbox } from '../support/sandbox.js';
import { type Ended, type Home, makeHome, type RunOptions } from '../support/shell.js';
import { hasTool } from '../support/tools.js';
import { startCommand } from '../support/transcripts/terminals.js';

interface Way extends RunOptions {
  /** The exit code; 0 when absent. */
  code?: number;
  /**
   * The command that replaces the example when the example would take long or need a port that may
   * be in use. It runs once for all examples that it replaces.
   */
  instead?: string;
  /** The content of the home folder in addition to the profile. */
  env?: NodeJS.ProcessEnv;
}

const CTRL_C = '\u0003';
const ANY_FREE_PORTS = '--port 0 --sse-port 0';
const AVAILABLE = 'fleet bicycles list --all --where state=available --limit 1 -o uuid';
/** Changes the bicycles of a workbook, and continues the run. */
const ROUND =
  'fleet bicycles list --state available --limit 2 -o xlsx --file round.xlsx && fleet bicycles act put_in_maintenance --from round.xlsx --journal round.jsonl --yes';
const WRITE_PLAN = `${AVAILABLE} | fleet bicycles act - put_in_maintenance --plan monday.plan`;
const APPLY_PLAN = `${WRITE_PLAN} && fleet apply monday.plan --yes`;
const WRITE_JOURNAL = `${AVAILABLE} | fleet bicycles act - put_in_maintenance --yes --journal j.jsonl`;

/** Several pages, and every state. */
const BICYCLES = 80;
const SYSTEM = fileURLToPath(new URL('../support/system.json', import.meta.url));
const PERMIT = fileURLToPath(new URL('../../docs/permit.yaml', import.meta.url));
const UNTIL_INTERRUPTED: Way = {
  code: 130,
  steps: [{ when: /following|open|\d/, press: 'SIGINT' }],
};

/**
 * The expected ends of examples that do not end by themselves with 0, by the beginning of their
 * line. The longest beginning that matches counts.
 */
const WAYS: { readonly [beginning: string]: Way } = {
  'fleet sandbox': { code: 130, steps: [{ when: /saved as the profile/, press: 'SIGINT' }] },
  // These examples run in this folder and must not leave files in it.
  'fleet bicycles list --all --columns uuid,name,note --file fleet.xlsx': {
    instead: 'fleet bicycles list --all --columns uuid,name,note -o xlsx --file /dev/null',
  },
  'fleet bicycles list --all --state lost --columns name,state_of_charge': {
    instead: 'fleet bicycles list --all --state lost --headings -o xlsx --file /dev/null',
  },
  'fleet bicycles stats --by day --since 7d --file': {
    instead: 'fleet bicycles stats --by day --since 7d -o html --file /dev/null',
  },
  'fleet map -o html': { instead: 'fleet map -o html --file /dev/null' },
  'fleet map -o svg': { instead: 'fleet map -o svg --file /dev/null' },
  'fleet map --near 52.52,13.405 --radius 8km -o svg': {
    instead: 'fleet map --near 52.52,13.405 --radius 8km -o svg --file /dev/null',
  },
  'fleet report --since 30d --by day --file': {
    instead: 'fleet report --since 30d --by day -o html --file /dev/null',
  },
  'fleet report --by model -o csv --file': {
    instead: 'fleet report --by model -o csv --file /dev/null',
  },
  'fleet map --serve': {
    code: 130,
    instead: 'fleet map --serve 0',
    steps: [{ when: /http:/, press: 'SIGINT' }],
  },
  'fleet watch': UNTIL_INTERRUPTED,
  'fleet watch --live': {
    code: 130,
    isTerminal: true,
    steps: [{ when: /NAME|quit|CHARGE/, press: CTRL_C }],
  },
  'fleet map --live': { isTerminal: true, steps: [{ when: /q quit/, press: 'q' }] },
  'fleet watch --for': {},
  'fleet watch --until': {},
  'fleet watch --bicycle': {},
  'fleet watch --topic': {},
  // A rule with `for` is unknown without a mirror.
  'fleet check docs/permit.yaml': { code: 9 },
  'fleet check docs/permit.yaml --every': {
    code: 130,
    instead: `fleet check ${PERMIT} --every 60s --state-file ~/check.state`,
    steps: [{ when: /unknown/, press: 'SIGINT' }],
  },
  // stdin is empty, so the server ends at once.
  'fleet mcp': {},
  'fleet alerts watch': UNTIL_INTERRUPTED,
  'fleet alerts listen': UNTIL_INTERRUPTED,
  'fleet auth login': {
    isTerminal: true,
    steps: [
      { when: /Address of the service/, press: 'http://127.0.0.1:1\r' },
      { when: /Push address/, press: '\r' },
      { when: /Access token/, press: 'token-of-a-stranger\r' },
      { when: /Organization/, press: '\r' },
    ],
  },
  'fleet auth login --base-url': {
    isTerminal: true,
    steps: [{ when: /Access token/, press: 'any-token\r' }],
  },
  'fleet completion bash --install': { isTerminal: true, steps: [{ when: /y\/N/, press: 'y\r' }] },
  'fleet completion powershell --install': {
    isTerminal: true,
    steps: [{ when: /y\/N/, press: 'y\r' }],
  },
  'fleet completion fish | source': { shell: 'fish' },
  'fleet profile delete berlin': { isTerminal: true, steps: [{ when: /y\/N/, press: 'y\r' }] },
  'fleet profile delete berlin --yes': {},
  'fleet config edit': { env: { EDITOR: 'true' } },
  "VISUAL='code": { instead: "VISUAL='sed -i s/berlin/hamburg/' fleet config edit" },
  'fleet mirror status': { code: 9 },
  'fleet mirror run': { code: 130, steps: [{ when: /watching/, press: 'SIGINT' }] },
  'fleet mirror run --to postgres': {
    code: 130,
    instead: 'fleet mirror run --keep 90d --metrics 0',
    steps: [{ when: /watching/, press: 'SIGINT' }],
  },
  // The folder belongs to another user, and the information about the system is in the folder of
  // the tests.
  'fleet gbfs --out': { instead: `fleet gbfs --out "$HOME/gbfs" --system ${SYSTEM}` },
  'fleet gbfs --out /srv/gbfs --system system.json --version': {
    instead: `fleet gbfs --out "$HOME/gbfs" --system ${SYSTEM} --version 2.3 --disabled`,
  },
  'fleet gbfs --out /srv/gbfs --system system.json --every': {
    code: 130,
    instead: `fleet gbfs --out "$HOME/gbfs" --system ${SYSTEM} --every 60s`,
    steps: [{ when: /published/, press: 'SIGINT' }],
  },
  'fleet gbfs --serve': {
    code: 130,
    instead: `fleet gbfs --serve 0 --system ${SYSTEM} --range 60km`,
    steps: [{ when: /published/, press: 'SIGINT' }],
  },
  'fleet gbfs --check': { code: 9 },
  'fleet bicycles list --all --where state=lost -o uuid | fleet bicycles act - put_in_maintenance --plan':
    { instead: `${WRITE_PLAN} && cat monday.plan` },
  'fleet apply monday.plan --dry-run': {
    instead: `${WRITE_PLAN} && fleet apply monday.plan --dry-run`,
  },
  'fleet apply monday.plan --yes': { instead: APPLY_PLAN },
  'fleet journal undo monday.plan.journal': {
    instead: `${APPLY_PLAN} && fleet journal undo monday.plan.journal --yes`,
  },
  'fleet journal undo j.jsonl --dry-run': {
    instead: `${WRITE_JOURNAL} && fleet journal undo j.jsonl --dry-run`,
  },
  'fleet journal undo j.jsonl --plan': {
    instead: `${WRITE_JOURNAL} && fleet journal undo j.jsonl --plan back.plan`,
  },
  'fleet journal undo j.jsonl --yes': {
    instead: `${WRITE_JOURNAL} && fleet journal undo j.jsonl --yes`,
  },
  'fleet alias delete low': {
    instead: "fleet alias set low 'bicycles list' && fleet alias delete low",
  },
  'fleet alias import aliases.yaml': {
    instead:
      "fleet alias set low 'bicycles list' && fleet alias list -o yaml | fleet alias import -",
  },
  'fleet bicycles act put_in_maintenance --from round.xlsx': { instead: ROUND },
  'fleet journal show round.jsonl': {
    instead: `${ROUND} && fleet journal show round.jsonl --file round.html`,
  },
  'fleet journal show j.jsonl': { instead: 'fleet journal show test/support/j.jsonl' },
  'fleet journal show j.jsonl --jq': {
    instead: `fleet journal show test/support/j.jsonl --jq '.[] | select(.outcome == "unknown") | .uuid'`,
  },
  // This example runs completely in demo.test.ts.
  'fleet demo': { instead: 'fleet demo --help' },
  // The list of this example fails, as its text says: "what went wrong, as one word".
  'fleet rounds --from 52.52,13.405 --zone Berlin --vans 2 --file rounds.xlsx': {
    instead:
      'fleet rounds --from 52.52,13.405 --zone Berlin --vans 2 -o xlsx --file $HOME/rounds.xlsx',
  },
  'fleet rounds --from 52.52,13.405 --zone Berlin --vans 2 --file rounds.html': {
    instead: 'fleet rounds --from 52.52,13.405 --zone Berlin --vans 2 -o html --file /dev/null',
  },
  'fleet rounds --from 52.52,13.405 --zone Berlin --start 07:30 --file rounds.html': {
    instead:
      'fleet rounds --from 52.52,13.405 --zone Berlin --start 07:30 -o html --file /dev/null',
  },
  'fleet rounds --from 52.52,13.405 --zone Berlin --file rounds.gpx': {
    instead: 'fleet rounds --from 52.52,13.405 --zone Berlin -o gpx --file /dev/null',
  },
  'fleet bicycles list --zone nowhere': { code: 5 },
  // The sandbox has other users, and nobody can log in to its profile.
  'pass show fleet-password': {
    code: 8,
    instead:
      'echo x | fleet auth login --email you@example.org --password-stdin --base-url http://127.0.0.1:1',
  },
};

function wayOf(line: string): Way {
  const beginnings = Object.keys(WAYS).filter((beginning) => line.startsWith(beginning));
  const longest = beginnings.sort((a, b) => b.length - a.length)[0];
  const way = longest === undefined ? {} : (WAYS[longest] ?? {});
  if (line.startsWith('fleet alerts listen'))
    return { ...way, env: { WEBHOOK_SECRET: 'try' }, instead: `${line} --port 0` };
  return line.startsWith('fleet sandbox') ? { ...way, instead: `${line} ${ANY_FREE_PORTS}` } : way;
}

/** Programs that examples use. An example with a missing program is skipped. */
function isInstalled(line: string): boolean {
  return (['jq', 'curl', 'fish'] as const).every(
    (name) => !new RegExp(`\\b${name}\\b`).test(line) || hasTool(name),
  );
}

const TERMINAL = { columns: 100, rows: 40 };

/** Runs a line with the runner of the transcripts, and presses the keys of its steps. */
async function runExample(
  { folder, env }: Home,
  line: string,
  { isTerminal = false, steps = [], shell }: RunOptions,
): Promise<Ended> {
  const command = startCommand({ env, folder, now: Date.now }, line, {
    stdin: undefined,
    // A journal or a plan is written to the current folder.
    isBuilt: isTerminal || /--(?:journal|plan)\b/.test(line),
    terminal: isTerminal ? TERMINAL : undefined,
    ...(shell === undefined ? {} : { shell }),
  });
  const text = () => command.stdout() + command.stderr();
  let seenTo = 0;
  for (const { when, press } of steps) {
    await command.until(() => when.test(text().slice(seenTo)));
    seenTo = text().length;
    if (isTerminal) command.press(press);
    else command.signal(press as NodeJS.Signals);
  }
  await command.until(() => false);
  command.screen?.close();
  return { code: command.code() ?? null, text: text() };
}

/** Whether a line can change the data of the service. */
function isChanging(line: string): boolean {
  if (/\b(?:apply|undo)\b/.test(line)) return true;
  return /\b(?:act|create|edit|api)\b/.test(line) && !/--dry-run/.test(line);
}

keepJq();
const shared = useSandbox({ bicycles: BICYCLES });
let sharedSettings: string;

beforeAll(async () => {
  sharedSettings = newFolder();
  await settle(sharedSettings, shared());
  // A mirror whose writer has stopped. The examples show its age and that it is not current.
  await makeMirror(`sqlite:${join(sharedSettings, 'state', 'sandbox.db')}`, {
    sandbox: shared(),
    isAlive: false,
  });
});

/** Two profiles for the same sandbox; the first profile is selected. */
async function settle(folder: string, sandbox: Sandbox): Promise<void> {
  const place = {
    folder,
    configPath: join(folder, 'config.json'),
    credentialsPath: join(folder, 'credentials.json'),
  };
  const values = {
    base_url: sandbox.baseUrl,
    sse_url: sandbox.sseUrl,
    organization: sandbox.organizations[0]?.uuid,
  };
  for (const profile of ['sandbox', 'berlin']) {
    await saveProfile(place, profile, values);
    await saveToken(place, profile, await sandbox.token());
  }
  await useProfile(place, 'sandbox');
}

/** A command that replaces several examples runs once. */
const standIns = new Map<string, Promise<void>>();

function tryExample(line: string): Promise<void> {
  const { instead } = wayOf(line);
  if (instead === undefined) return tryInHome(line);
  const tried = standIns.get(instead) ?? tryInHome(line);
  standIns.set(instead, tried);
  return tried;
}

async function tryInHome(line: string): Promise<void> {
  // A fake password manager with a token, for the examples that call `pass`.
  const home = await makeHome({}, { pass: `echo ${await shared().token()}` });
  const settings = join(home.folder, 'settings');
  if (!isChanging(line)) {
    await cp(sharedSettings, settings, {
      recursive: true,
      filter: (path) => !/-(?:shm|wal)$/.test(path),
    });
    return await tryIn(home, line);
  }
  await withSandbox({ bicycles: BICYCLES }, async (sandbox) => {
    await settle(settings, sandbox);
    // A bicycle must have no lock before it can be retired.
    const [, retired] = /([0-9a-f-]{36}) retire\b/.exec(line) ?? [];
    if (retired !== undefined) sandbox.changeBicycle(retired, { lock: null });
    await tryIn(home, line);
  });
}

async function tryIn({ env, ...home }: Home, line: string): Promise<void> {
  const { code = 0, instead = line, ...options } = wayOf(line);
  const own = { ...home, env: { ...env, ...options.env } };
  const ended = await runExample(own, instead.replaceAll('$HOME', home.folder), options);
  expect({ line, ...ended }).toMatchObject({ line, code });
}

const PAGES = await everyPage();

describe('examples of help pages and guides', () => {
  test('every help page has at least two examples', () => {
    expect(
      // A guide contains its examples in its text.
      PAGES.slice(1)
        .filter((page) => examplesOf(page).length < 2 && !page.name.startsWith('fleet help '))
        .map(({ name }) => name),
    ).toEqual([]);
    expect(GUIDES.filter((path) => shellLines(path).length < 2)).toEqual([]);
  });

  const lines = [...new Set(PAGES.flatMap(examplesOf))];
  describe.concurrent('examples of help pages', () => {
    for (const line of lines) {
      const canRun = isInstalled(line) && (wayOf(line).isTerminal !== true || hasTool('script'));
      test.runIf(canRun)(line, () => tryExample(line));
    }
  });
});

describe.concurrent('examples of README and guides', () => {
  const isOnAPage = new Set(PAGES.flatMap(examplesOf));
  const written = ['README.md', ...GUIDES].flatMap(shellLines);
  for (const line of new Set(written.filter((each) => !isOnAPage.has(each)))) {
    const canRun = isInstalled(line) && (wayOf(line).isTerminal !== true || hasTool('script'));
    test.runIf(canRun)(line, () => tryExample(line));
  }
});
