// The root command: the flags every command takes, and the list of nouns.

import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { addAlerts } from './commands/alerts/index.js';
import { addAuth } from './commands/auth/index.js';
import { addBicycles } from './commands/bicycles/index.js';
import { addConfig } from './commands/config/index.js';
import { addDemo } from './commands/demo/index.js';
import { addProfile } from './commands/profile/index.js';
import { addSandbox } from './commands/sandbox/index.js';
import { addWatch } from './commands/watch/index.js';
import { oneOf, type Run, wholeNumber } from './commands/words.js';
import { usageError } from './errors.js';
import { FORMATS } from './terminal/formats.js';

/** Each noun's words; a new noun is one line here. */
const NOUNS: readonly ((program: Command, run: Run) => void)[] = [
  addBicycles,
  addAlerts,
  addWatch,
  addAuth,
  addConfig,
  addProfile,
  addSandbox,
  addDemo,
];

/**
 * Builds the command line of `fleet`.
 * @param run runs a command's deed with its context
 * @param writeHelp takes help and version texts, which go to stdout
 */
export function buildProgram(run: Run, writeHelp: (text: string) => void): Command {
  const program = new Command('fleet')
    .description('List, create, act on and watch a fleet of rental bicycles.')
    .usage('<command> [flags]')
    .exitOverride()
    .configureOutput({ writeOut: writeHelp, writeErr: writeHelp, outputError() {} })
    .configureHelp({ showGlobalOptions: true })
    .option('-V, --version', 'print the version')
    .on('option:version', () => {
      writeHelp(`${readVersion()}\n`);
      throw new CommanderError(0, 'commander.version', '');
    });
  addGlobalFlags(program);
  for (const add of NOUNS) add(program, run);
  return program;
}

function addGlobalFlags(program: Command): void {
  program
    .option(
      '-o, --output <format>',
      `how the result is written: ${FORMATS.join(', ')} (default: table)`,
      oneOf('format', FORMATS),
    )
    .option('--json', 'short for -o json')
    .option('--columns <a,b,…>', 'fields to show, in that order (table, csv, tsv)', readColumns)
    .option('--profile <name>', 'settings profile (default: the profile in use)')
    .option('--base-url <url>', 'address of the service, prefix such as /api included (default: from the profile)')
    .option('--sse-url <url>', 'address of the push channel (default: from the profile)')
    .option('--api-version <version>', 'version asked for in Accept (default: 1.0)')
    .option('--timeout <seconds>', 'per request: connect, headers, body (default: 30)')
    .option('--retries <n>', 'extra tries of a safe request (default: 3)', wholeNumber('--retries', 0))
    .option('--trace', 'one line per response on stderr with the three trace headers')
    .option('-v, --verbose', 'requests and responses on stderr, secrets hidden')
    .option('-q, --quiet', 'no progress, hints or notices on stderr; errors still')
    .option('--no-input', 'never ask: a question becomes a usage error')
    .option('--no-color', 'no colours; also NO_COLOR, and FORCE_COLOR turns them on');
}

function readColumns(text: string): string[] {
  const columns = text.split(',').map((column) => column.trim());
  if (columns.includes('')) throw usageError(`--columns takes field names with commas between, not "${text}"`);
  return columns;
}

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
