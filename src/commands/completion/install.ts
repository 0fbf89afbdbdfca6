// `fleet completion --install` and `--uninstall`: adds a line to a start-up file of the shell, or
// removes it. Shows the change first.

import { execFile } from 'node:child_process';
import { appendFile, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Shell } from '../../cli/shells.js';
import type { Context } from '../../context.js';
import { configError, FleetError, reasonOf } from '../../errors.js';
import { hasCode, isWholePath, makeFolder } from '../../system/folder.js';
import { windowsProgram } from '../../system/shell.js';
import { homeOfUser } from '../../system/user.js';
import { writeWholeFile } from '../../system/whole-file.js';
import { clean } from '../../terminal/clean.js';
import { askYesNo } from '../../terminal/prompt.js';
import type { CompletionOptions } from './flags.js';

/**
 * The line that is added to each shell's startup file. The line runs fleet at each start of the
 * shell. Completions therefore stay up to date after an upgrade of fleet.
 */
const LINES: { readonly [Name in Shell]: string } = {
  bash: '! command -v fleet > /dev/null || eval "$(fleet completion bash)"',
  zsh: '! command -v fleet > /dev/null || { (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }; eval "$(fleet completion zsh)" }',
  fish: 'fleet completion fish | source',
  powershell:
    'if (Get-Command fleet -ErrorAction Ignore) { fleet completion powershell | Out-String | Invoke-Expression }',
};

/**
 * Installs the completion, or removes exactly the lines that the installation added. Shows the
 * change and asks for confirmation, unless `--yes` is set.
 *
 * Throws a FleetError of kind `usage` when it cannot ask and `--yes` is missing. Throws a
 * FleetError of kind `output` when the file cannot be written.
 */
export async function changeCompletion(
  context: Context,
  shell: Shell,
  to: 'installed' | 'removed',
  { yes }: Pick<CompletionOptions, 'yes'>,
): Promise<void> {
  const { io, notice } = context;
  const line = LINES[shell];
  const isWanted = to === 'installed';
  const byHand = `${isWanted ? 'add the line to' : 'remove the line from'} the file yourself: ${line}`;
  const paths = await startFiles(shell, io.env);
  try {
    const texts = await Promise.all(
      paths.map(async (path) => [path, await readText(path)] as const),
    );
    const changes = texts.filter(([, text]) => text.split('\n').includes(line) !== isWanted);
    if (changes.length === 0)
      return await notice(
        `completion for ${shell} is ${isWanted ? `already installed in ${paths.join(' and ')}` : 'not installed'}`,
      );
    for (const [path] of changes) {
      const said = `this ${isWanted ? 'adds a line to' : 'removes a line from'} ${path}: ${line}`;
      // --quiet hides notices, but the user must see the change before the question.
      await (yes === true ? notice(said) : io.stderr.write(`${clean(said)}\n`));
    }
    const question = {
      message: 'Make this change?',
      instead: `add --yes to skip the question, or ${byHand}`,
    };
    if (yes !== true && !(await askYesNo(context, question)))
      return await notice('nothing was changed');
    for (const [path, text] of changes) await changeFile(path, text, line, isWanted);
  } catch (error) {
    if (error instanceof FleetError || context.signal.aborted) throw error;
    const message = `the completion could not be ${to}: ${reasonOf(error)}`;
    throw new FleetError('output', message, { hint: byHand, cause: error });
  }
  const when = isWanted
    ? 'it works in shells that you start from now on'
    : 'shells that run already keep it';
  await notice(`completion for ${shell} is ${to}; ${when}`);
}

/** Returns the files that a shell reads when it starts. */
async function startFiles(shell: Shell, env: NodeJS.ProcessEnv): Promise<string[]> {
  const home = homeOfUser(env);
  if (home === undefined)
    throw configError('there is no home folder: HOME is not an absolute path');
  const config = env['XDG_CONFIG_HOME'] || join(home, '.config');
  if (shell === 'bash') return [join(home, '.bashrc')];
  if (shell === 'zsh') return [join(env['ZDOTDIR'] || home, '.zshrc')];
  if (shell === 'fish') return [join(config, 'fish', 'completions', 'fleet.fish')];
  if (process.platform !== 'win32') return [join(config, 'powershell', 'profile.ps1')];
  const documents = await documentsFolder(home);
  return ['PowerShell', 'WindowsPowerShell'].map((folder) =>
    join(documents, folder, 'profile.ps1'),
  );
}

const DOCUMENTS_LIMIT_MS = 10_000;

/**
 * Returns the user's documents folder, where Windows keeps the profiles of PowerShell. This folder
 * may be in OneDrive.
 */
async function documentsFolder(home: string): Promise<string> {
  const ask =
    "[Console]::OutputEncoding = [Text.Encoding]::UTF8; [Environment]::GetFolderPath('MyDocuments')";
  const powershell = windowsProgram('WindowsPowerShell', 'v1.0', 'powershell.exe');
  const options = { windowsHide: true, timeout: DOCUMENTS_LIMIT_MS };
  const told = await promisify(execFile)(
    powershell,
    ['-NoProfile', '-Command', ask],
    options,
  ).catch(() => undefined);
  const found = told?.stdout.trim() ?? '';
  return isWholePath(found) ? found : join(home, 'Documents');
}

async function changeFile(
  path: string,
  text: string,
  line: string,
  isWanted: boolean,
): Promise<void> {
  if (isWanted) {
    await makeFolder(dirname(path));
    return appendFile(path, `${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`);
  }
  const lines = text.split('\n').filter((one) => one !== line);
  const rest = lines.join('\n');
  if (rest === '') return rm(path);
  writeWholeFile(path, rest);
}

/** Returns the content of a file, or an empty string when the file does not exist. */
async function readText(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return '';
    throw error;
  });
  // Windows PowerShell writes files in UTF-16. When such a file is read as UTF-8, the text contains
  // NUL characters.
  if (text.includes('\0')) throw new Error(`${path} is UTF-16, which fleet does not write`);
  return text;
}
