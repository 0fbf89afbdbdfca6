// The root command: its global flags, the list of nouns, and the execution of a command line.

import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type {
  CommandUnknownOpts as Command,
  Command as TypedCommand,
} from '@commander-js/extra-typings';
import { CommanderError } from 'commander';
import { createRoot } from './cli/command.js';
import { anyText, columnsOf, PROFILES, plain, withOffers } from './cli/completions.js';
import { checkGlobalFlags } from './cli/contradictions.js';
import {
  fitHelp,
  type HelpScreen,
  helpConfiguration,
  helpFirstPage,
  helpWidth,
  pathOf,
} from './cli/help.js';
import { oneOf, secondsOf, wholeNumber } from './cli/options.js';
import { readTimeZone } from './cli/time-zone.js';
import { addBicycles } from './commands/bicycles/index.js';
import { TIME_PARTS } from './commands/report/parts.js';
import {
  type Context,
  type GlobalFlags,
  openContext,
  type Run,
  type Signals,
  type World,
} from './context.js';
import { FleetError, usageError } from './errors.js';
import type { OfflineFlags } from './list/offline.js';
import { programVersion } from './system/program-files.js';
import {
  DOCUMENTS,
  type DocumentFormat,
  FORMATS,
  PICTURES,
  type PictureFormat,
} from './terminal/formats.js';
import type { Io } from './terminal/io.js';

/**
 * The function that runs a verb. commander passes the operands and options to this function. Their
 * types depend on the verb.
 */
type Action = (context: Context, ...given: unknown[]) => Promise<void>;
/** Declares a noun and its verbs below the root. */
type AddNoun = (program: Command, run: Run, verb?: string) => void;
type Nouns = { readonly [name: string]: () => AddNoun | Promise<AddNoun> };

/**
 * The nouns for daily work. `bicycles` is loaded together with the root command, because most
 * commands begin with it. The others are loaded when they are needed.
 */
const WORK: Nouns = {
  bicycles: () => addBicycles,
  alerts: async () => (await import('./commands/alerts/index.js')).addAlerts,
  watch: async () => (await import('./commands/watch/index.js')).addWatch,
  map: async () => (await import('./commands/map/index.js')).addMap,
  rounds: async () => (await import('./commands/rounds/index.js')).addRounds,
  mirror: async () => (await import('./commands/mirror/index.js')).addMirror,
  gbfs: async () => (await import('./commands/gbfs/index.js')).addGbfs,
  check: async () => (await import('./commands/check/index.js')).addCheck,
  report: async () => (await import('./commands/report/index.js')).addReport,
  apply: async () => (await import('./commands/apply/index.js')).addApply,
  mcp: async () => (await import('./commands/mcp/index.js')).addMcp,
  journal: async () => (await import('./commands/journal/index.js')).addJournal,
  organizations: async () => (await import('./commands/named/index.js')).addNamed('organization'),
  zones: async () => (await import('./commands/named/index.js')).addNamed('zone'),
  models: async () => (await import('./commands/named/index.js')).addNamed('model'),
  api: async () => (await import('./commands/api/index.js')).addApi,
};
/**
 * Loads the declaration of each noun. The nouns are grouped as on the first help page. To add a
 * noun, add one line here.
 */
const NOUNS: { readonly [heading: string]: Nouns } = {
  'Work with the fleet:': WORK,
  'Settings:': {
    auth: async () => (await import('./commands/auth/index.js')).addAuth,
    config: async () => (await import('./commands/config/index.js')).addConfig,
    profile: async () => (await import('./commands/profile/index.js')).addProfile,
    alias: async () => (await import('./commands/alias/index.js')).addAlias,
  },
  'Help:': {
    doctor: async () => (await import('./commands/doctor/index.js')).addDoctor,
    completion: async () => (await import('./commands/completion/index.js')).addCompletion,
    help: async () => (await import('./commands/help/index.js')).addHelp,
    sandbox: async () => (await import('./commands/sandbox/index.js')).addSandbox,
    demo: async () => (await import('./commands/demo/index.js')).addDemo,
  },
};

/** The format `wide`: a table with every column and no truncated values. */
const WIDE = 'wide';
const [TABLE, ...FILES] = FORMATS;
const OUTPUTS = [TABLE, WIDE, ...FILES] as const;
const MAP = 'map';
/** The additional formats of commands that draw. */
const DRAWN_FORMATS: { readonly [command: string]: readonly PictureFormat[] } = {
  [MAP]: ['svg', 'html'],
  rounds: ['html', 'gpx'],
};
/** The command that writes documents in every format. */
const REPORT = 'report';
/** The documents that commands write. */
const COMMAND_DOCUMENTS: { readonly [command: string]: readonly DocumentFormat[] } = {
  [REPORT]: DOCUMENTS,
  stats: ['html'],
};

/** By default, help pages are written for a pipe, which has no width and no colours. */
const PIPE: HelpScreen = { width: undefined, hasColors: false };

/**
 * Runs one command line. Throws the error that ends it; an invalid command line is a usage error.
 */
export async function runProgram(
  argv: readonly string[],
  world: World,
  io: Io,
  signals: Signals,
  runLine: Context['runLine'],
): Promise<void> {
  let opened: ReturnType<typeof openContext> | undefined;
  let helpText = '';
  const run: Run =
    (load) =>
    async (...given) => {
      const command = given.pop() as Command;
      const typed: GlobalFlags = command.optsWithGlobals();
      checkGlobalFlags(typed, pathOf(command));
      opened = openContext(world, io, readOutput(typed, command), signals, runLine);
      // An invalid `--jq` program is refused before anything is sent.
      await opened.context.jq();
      const action = async (context: Context) => ((await load()) as Action)(context, ...given);
      const { offline, to } = typed as OfflineFlags;
      if (offline === true) {
        // For `rounds`, `--to` names the end of the tours and not the database of a mirror.
        const address = command.name() === 'rounds' ? undefined : to;
        await (await import('./list/offline.js')).runOffline(opened.context, action, address);
      } else if (
        to !== undefined &&
        command.name() !== 'rounds' &&
        !isCountedOverTime(command) &&
        command.options.some(({ long }) => long === '--offline')
      ) {
        throw usageError('--to needs --offline', 'add --offline, or remove --to');
      } else await action(opened.context);
    };
  const build = (words: readonly string[] = []) =>
    buildProgram(run, {
      write(text) {
        helpText += text;
      },
      screen: { width: io.stdout.width(), hasColors: io.stdout.colorLevel > 0 },
      words,
    });
  try {
    if (isTreeWanted(argv)) {
      const { commandTree } = await import('./cli/command-tree.js');
      await io.stdout.write(`${JSON.stringify(commandTree(await build()), undefined, 2)}\n`);
      return;
    }
    await (await build(argv)).parseAsync(joinVersion(argv), { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw await withSuggestedLine(thrown, build, argv);
    if (thrown.exitCode !== 0 && thrown.code !== 'commander.help')
      throw await usageErrorOf(thrown, await build(), argv);
  } finally {
    await opened?.close();
  }
  await io.stdout.write(helpText);
}

/**
 * Expands a typed command line: replaces an alias, and adds the stored default flags of the
 * command. Throws a FleetError of kind `usage` for an alias with missing arguments.
 */
export async function expandTyped(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<readonly string[]> {
  const { expandLine: expand } = await import('./commands/alias/expand.js');
  const run: Run = () => async () => {};
  return expand(argv, env, (words) => buildProgram(run, { write() {}, words }));
}

/** Whether the command computes statistics over time. Such a command always reads the mirror. */
function isCountedOverTime(command: Command): boolean {
  const { by } = command.opts();
  return command.name() === 'stats' && TIME_PARTS.some((part) => part === by);
}

/**
 * Whether the line is `fleet --help --json`, which prints a machine-readable description of every
 * command.
 */
function isTreeWanted(argv: readonly string[]): boolean {
  const [first = '', second = ''] = argv;
  const isHelp = (word: string) => word === '--help' || word === '-h' || word === 'help';
  if (argv.length !== 2) return false;
  return (isHelp(first) && second === '--json') || (first === '--json' && isHelp(second));
}

/**
 * The root command accepts `--version` at any position. After `gbfs`, however, `--version VALUE` is
 * a flag of that command and means the version of the feed.
 */
function joinVersion(argv: readonly string[]): string[] {
  const at = argv.indexOf('--version', argv.indexOf('gbfs') + 1);
  const value = argv[at + 1];
  if (!argv.includes('gbfs') || at === -1 || value === undefined || value.startsWith('-'))
    return [...argv];
  return [...argv.slice(0, at), `--version=${value}`, ...argv.slice(at + 2)];
}

/**
 * The nouns on the first help page. The entry for organizations also describes zones and models.
 */
const FIRST_PAGE = Object.values(NOUNS).map((nouns) =>
  Object.keys(nouns).filter((name) => name !== 'zones' && name !== 'models'),
);

/**
 * Reads the output flags. `--json` is short for `-o json`, `-o wide` is the table with every
 * column, `--file -` is stdout, and the extension of `--file` chooses a format. Throws a usage
 * error when two flags contradict each other.
 */
function readOutput({ output, file: path, ...rest }: GlobalFlags, command: Command): GlobalFlags {
  const flags: GlobalFlags = path === undefined || path === '-' ? rest : { ...rest, file: path };
  if (path === '') throw usageError('--file needs a path', 'for stdout, use: --file -');
  if (flags.file !== undefined) refuseSharedFile(flags.file, command.opts());
  if (flags.json === true && output !== undefined && output !== 'json')
    throw usageError(`--json and --output ${output} cannot be used together`, 'remove one of them');
  const asked = flags.json === true ? 'json' : output;
  if (flags.file !== undefined && !hasOwnExtension(command, flags.file))
    checkExtension(flags.file, flags, asked === WIDE ? undefined : asked);
  if (flags.json === true) return { ...flags, output: 'json' };
  if (output === WIDE) return { ...flags, output: formatOfFile(flags.file) ?? TABLE, wide: true };
  const document = documentOf(command, flags.file, asked);
  if (document !== undefined) {
    refuseDocumentFlags(document, flags);
    return { ...flags, document };
  }
  if (output === 'md') throw usageError('only reports support -o md', 'use "fleet report -o md"');
  const picture = PICTURES.find((each) => each === output);
  // The command `map` has its own file extensions. A result of `--jq` is written as it is, in any
  // file.
  const isNamed = flags.jq === undefined && command.name() !== MAP;
  const chosen = output ?? (isNamed ? formatOfFile(flags.file) : undefined);
  if (picture === undefined) return chosen === undefined ? flags : { ...flags, output: chosen };
  if (DRAWN_FORMATS[command.name()]?.includes(picture)) return { ...flags, picture };
  const drawers = Object.keys(DRAWN_FORMATS).filter((name) =>
    DRAWN_FORMATS[name]?.includes(picture),
  );
  throw usageError(
    `-o ${picture} draws ${drawers.includes(MAP) ? 'a map' : 'tours'}`,
    `use ${drawers.map((name) => `fleet ${name} -o ${picture}`).join(' or ')}`,
  );
}

/** Returns the kind of document that the command writes, from -o or the file extension. */
function documentOf(
  command: Command,
  file: string | undefined,
  asked: string | undefined,
): GlobalFlags['document'] {
  const extension = extensionOf(file);
  const name = asked ?? (extension === 'htm' ? 'html' : extension);
  return COMMAND_DOCUMENTS[command.name()]?.find((each) => each === name);
}

/** Refuses flags that have no effect on a document. */
function refuseDocumentFlags(
  document: string,
  { jq, columns, headers, headings, excel }: GlobalFlags,
): void {
  const given = {
    '--jq': jq !== undefined,
    '--columns': columns !== undefined,
    '--no-headers': headers === false,
    '--headings': headings === true,
    '--excel': excel === true,
  };
  const [flag] = Object.entries(given).find(([, isGiven]) => isGiven) ?? [];
  if (flag !== undefined)
    throw usageError(`${flag} cannot be used with -o ${document}`, 'remove one of them');
}

/** Flags whose value is a file that the command needs. */
const FILES_IN_USE = {
  journal: '--journal',
  from: '--from',
  stateFile: '--state-file',
  plan: '--plan',
} as const;

/** Refuses a `--file` that would replace the command's journal, input or state. */
function refuseSharedFile(file: string, options: { readonly [name: string]: unknown }): void {
  for (const [name, flag] of Object.entries(FILES_IN_USE)) {
    const other = options[name];
    if (typeof other !== 'string' || other === '-' || !isSameFile(file, other)) continue;
    throw usageError(
      `--file and ${flag} refer to the same file, ${file}`,
      'choose another path for the result',
    );
  }
}

/** Whether two paths lead to the same file. The file need not exist yet. */
function isSameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return resolve(one) === resolve(other);
  }
}

/**
 * Commands whose `--file` may have any extension, because they write a service response or a
 * drawing.
 */
const WRITES_ANY_FILE: readonly string[] = ['api', MAP];

/** Whether the command itself, and not the output layer, supports files with this extension. */
function hasOwnExtension(command: Command, file: string): boolean {
  if (WRITES_ANY_FILE.includes(command.name())) return true;
  const extension = extensionOf(file) ?? '';
  if (command.name() === 'rounds') return /^(?:html?|gpx)$/.test(extension);
  const documents: readonly string[] = COMMAND_DOCUMENTS[command.name()] ?? [];
  if (documents.length > 0) return documents.includes(extension.replace(/^htm$/, 'html'));
  const isJournal = command.parent?.name() === 'journal';
  return isJournal && /^html?$/.test(extension);
}

/** The format for each extension of `--file`. */
const FORMATS_BY_EXTENSION: { readonly [extension: string]: GlobalFlags['output'] } = {
  json: 'json',
  jsonl: 'jsonl',
  csv: 'csv',
  tsv: 'tsv',
  yaml: 'yaml',
  yml: 'yaml',
  geojson: 'geojson',
  xlsx: 'xlsx',
  uuid: 'uuid',
  txt: 'table',
  table: 'table',
};

/** Extensions of documents that fleet cannot write. */
const OTHER_DOCUMENTS =
  /^(?:docx?|docm|odt|rtf|xls|xlsm|xlsb|ods|numbers|pptx?|pdf|zip|gz|sqlite|db|parquet)$/;

function extensionOf(file: string | undefined): string | undefined {
  return /[^/\\]\.([A-Za-z0-9]+)$/.exec(file ?? '')?.[1]?.toLowerCase();
}

function formatOfFile(file: string | undefined): GlobalFlags['output'] {
  const extension = extensionOf(file);
  return extension !== undefined && Object.hasOwn(FORMATS_BY_EXTENSION, extension)
    ? FORMATS_BY_EXTENSION[extension]
    : undefined;
}

/** Refuses a file with an extension that does not match its format. */
function checkExtension(
  file: string,
  { excel, jq }: GlobalFlags,
  output: GlobalFlags['output'],
): void {
  const extension = extensionOf(file);
  if (extension === undefined) return;
  if (extension === 'xlsx' && excel === true)
    throw usageError('--excel applies only to csv, not to an .xlsx file', 'remove --excel');
  if (extension === 'xlsx' && (jq !== undefined || (output ?? 'xlsx') !== 'xlsx'))
    throw usageError(
      `--file "${file}" is a workbook, but ${jq === undefined ? `-o ${output}` : '--jq'} writes text`,
      'remove -o to write a workbook, or choose another extension',
    );
  if (output === 'xlsx' && extension !== 'xlsx')
    throw usageError(`-o xlsx needs a file that ends in .xlsx, not "${file}"`);
  const isChosen = output !== undefined || jq !== undefined;
  const isKnown = Object.hasOwn(FORMATS_BY_EXTENSION, extension);
  if (isKnown || (isChosen && !OTHER_DOCUMENTS.test(extension))) return;
  const extensions = Object.keys(FORMATS_BY_EXTENSION)
    .filter((each) => each !== TABLE)
    .map((each) => `.${each}`);
  throw usageError(
    `fleet cannot write .${extension} files`,
    `supported extensions: ${extensions.join(', ')}${OTHER_DOCUMENTS.test(extension) ? '' : '; or choose a format with -o'}`,
  );
}

/**
 * Turns commander's error into a usage error. Removes the prefix "error:" and commander's
 * suggestion, because fleet adds its own hint.
 */
async function usageErrorOf(
  error: CommanderError,
  program: Command,
  argv: readonly string[],
): Promise<FleetError> {
  const { hintFor } = await import('./cli/suggestion.js');
  const [first = ''] = error.message.replace(/^error: /, '').split('\n');
  const message = first.replace(/^(unknown option ')(.*)(')$/s, (_, before, flag, after) => {
    return before + withoutValue(flag) + after;
  });
  return new FleetError('usage', message, { hint: hintFor(error, program, argv), cause: error });
}

/** Removes the value from an unknown flag, because it can be a password: `--pass=…`, `-p…`. */
function withoutValue(flag: string): string {
  return /^--/.test(flag) ? flag.replace(/=.*$/s, '') : flag.replace(/^(-.)(?![a-z]*$).*$/s, '$1');
}

/** If fleet can guess what the user meant, adds a corrected command line to the error. */
async function withSuggestedLine(
  thrown: unknown,
  build: () => Promise<Command>,
  argv: readonly string[],
): Promise<unknown> {
  if (!(thrown instanceof FleetError) || thrown.kind !== 'usage' || thrown.status !== undefined)
    return thrown;
  const { suggestionFor } = await import('./cli/suggestion.js');
  const hint = suggestionFor(await build(), argv);
  return hint === undefined
    ? thrown
    : new FleetError('usage', thrown.message, { hint, cause: thrown });
}

export interface ProgramOptions {
  /** Called with a help page or the version, to print it on stdout. */
  write(text: string): void;
  /** The screen that shows the help pages. */
  screen?: HelpScreen;
  /**
   * The command line. When the line begins with a noun of `WORK`, only that noun is loaded, to save
   * time.
   */
  words?: readonly string[];
}

/** Builds the command line of `fleet`. `run` runs a command's action with its context. */
export async function buildProgram(
  run: Run,
  { write, screen = PIPE, words = [] }: ProgramOptions,
): Promise<Command> {
  const writeFitted = (text: string) => write(fitHelp(text, helpWidth(screen)));
  const program: Command = createRoot('fleet')
    .description('List, create, act on and watch a fleet of rental bicycles.')
    .exitOverride()
    .configureOutput({
      writeOut: writeFitted,
      // commander writes the first help page to stderr when the command line has no command, so
      // this function receives it.
      writeErr: writeFitted,
      outputError() {},
      getOutHelpWidth: () => helpWidth(screen),
      getErrHelpWidth: () => helpWidth(screen),
      getOutHasColors: () => screen.hasColors,
      getErrHasColors: () => screen.hasColors,
    })
    .configureHelp(helpConfiguration())
    .addHelpText('afterAll', ({ command }) =>
      command === program ? '' : '\nFlags of every command: fleet help flags',
    )
    .option('-V, --version', 'print the version')
    .on('option:version', () => {
      write(`${programVersion()}\n`);
      throw new CommanderError(0, 'commander.version', '');
    });
  addGlobalFlags(program);
  program.helpInformation = () => helpFirstPage(program, FIRST_PAGE);
  addInnerHelp(program);
  const [noun = '', verb] = words;
  const only = Object.hasOwn(WORK, noun) ? WORK[noun] : undefined;
  if (only !== undefined) (await only())(program, run, verb);
  else
    for (const [heading, nouns] of Object.entries(NOUNS)) {
      program.commandsGroup(heading);
      for (const load of Object.values(nouns)) (await load())(program, run);
    }
  return program;
}

/**
 * Makes `fleet bicycles help list` work. Commander copies this setting to subcommands that are
 * declared later. Help pages do not list the `help` subcommand.
 */
function addInnerHelp(program: Command): void {
  const inner = program.createCommand('help').argument('[command]');
  program.createCommand().addCommand(inner, { hidden: true });
  program.addHelpCommand(inner as unknown as TypedCommand);
}

function addGlobalFlags(program: Command): void {
  program
    .option(
      '-o, --output <format>',
      `how the result is written: ${OUTPUTS.join(', ')}; map also svg, html; rounds also gpx, html; report also md, html; bicycles stats also html (default: table)`,
      readOutputName,
    )
    .option('--json', 'short for -o json')
    .option(
      '--file <path>',
      'write the complete result to this file; its extension chooses the format; - is stdout',
    )
    .option('--excel', 'csv for Excel: its separator, and no cell that becomes a formula')
    .option(
      '--timezone <name>',
      'zone of local times, such as Europe/Berlin, in output and input (default: of the machine)',
      readTimeZone,
    )
    .option('--columns <a,b,…>', 'columns to show, in this order (table, csv, tsv)', readColumns)
    .option('--no-truncate', 'keep values whole in a table; -o wide also shows every column')
    .option('--headings', 'readable English headings in files (csv, tsv, xlsx)')
    .option('--no-headers', 'leave out the header (table, csv, tsv)')
    .option('--jq <program>', 'filter the JSON with jq; strings print raw')
    .option('--profile <name>', 'settings profile (default: the profile in use)', anyText(PROFILES))
    .option(
      '--base-url <url>',
      'address of the service, prefix such as /api included (default: from the profile)',
    )
    .option('--sse-url <url>', 'address of the push channel (default: from the profile)')
    .option('--api-version <version>', 'API version to request (default: 1.0)')
    .option('--timeout <seconds>', 'seconds without data before a request fails (default: 30)')
    .option(
      '--deadline <seconds>',
      'seconds for a whole request (default: 10 times the timeout)',
      secondsOf('--deadline'),
    )
    .option('--retries <n>', 'retries of a safe request (default: 3)', wholeNumber('--retries', 0))
    .option(
      '--page-size <n>',
      'items on a page (default: 100 where several pages are read)',
      wholeNumber('--page-size', 1),
    )
    .option('--trace', 'one line per response on stderr with the three trace headers')
    .option('-v, --verbose', 'requests and responses on stderr, secrets redacted')
    .option('-q, --quiet', 'no progress, hints or notices on stderr; errors still')
    .option('--no-mirror', 'ask the service even when a mirror is current')
    .option('--no-input', 'never ask questions: fail instead (exit 2)')
    .option('--no-color', 'no colours; also NO_COLOR, and FORCE_COLOR turns them on');
}

const ALL_OUTPUTS = [...new Set([...OUTPUTS, ...PICTURES, ...DOCUMENTS])];

const readOutputName = withOffers(oneOf('format', ALL_OUTPUTS), ({ command }) => ({
  words: plain(outputsOf(command.name())),
}));

/** Returns the values of `-o` that a command accepts. */
function outputsOf(name: string): readonly string[] {
  const drawn = DRAWN_FORMATS[name] ?? [];
  if (name === MAP) return drawn;
  return [...OUTPUTS, ...(COMMAND_DOCUMENTS[name] ?? drawn)];
}

const readColumns = withOffers(parseColumns, ({ command }) => ({
  words: plain(columnsOf(command)),
  isList: true,
}));

function parseColumns(text: string): string[] {
  const columns = text.split(',').map((column) => column.trim());
  if (columns.includes(''))
    throw usageError(`--columns must be field names separated by commas, not "${text}"`);
  return columns;
}
