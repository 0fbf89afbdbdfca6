// `fleet completion --install` and `--uninstall`: puts the script where the shell finds it, or takes it away, and says before what that changes.

import { execFile } from 'node:child_process';
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { SCRIPTS } from '../../cli/shell-scripts.js';
import type { Shell } from '../../cli/shells.js';
import type { Context } from '../../context.js';
import { configError, FleetError, reasonOf } from '../../errors.js';
import { hasCode, isWholePath, makeFolder } from '../../folder.js';
import { windowsProgram } from '../../shell.js';
import { quoteForShell } from '../../shell-words.js';
import { clean } from '../../terminal/clean.js';
import { askYesNo } from '../../terminal/prompt.js';
import { homeOfUser } from '../../user.js';

/** A line in a file that the shell reads at its start. */
interface StartLine {
  path: string;
  line: string;
}

/** What the shell needs: the script in a file, and lines that load it. */
interface Plan {
  scriptPath: string;
  /** None for a shell that finds the script by itself. */
  startLines: StartLine[];
}

interface Change {
  said: string;
  change(): Promise<unknown>;
}

/**
 * Installs the completion, or takes away what that wrote and nothing else; says before what it changes, and asks unless `--yes` says so. Throws
 * a FleetError of kind `usage` when nobody can be asked and `--yes` is missing, of kind `output` when it cannot be written.
 */
export async function changeCompletion(
  context: Context,
  shell: Shell,
  to: 'installed' | 'removed',
  { yes }: { yes?: boolean },
): Promise<void> {
  const { io, notice } = context;
  const isWanted = to === 'installed';
  const byHand = isWanted
    ? `put the script in place yourself: fleet completion ${shell}`
    : 'remove the file and the line that were named yourself';
  const plan = await makePlan(shell, io.env);
  try {
    const changes = await findChanges(plan, shell, isWanted);
    if (changes.length === 0) {
      const where = isWanted ? `installed already, in ${plan.scriptPath}` : 'not installed';
      return await notice(`completion for ${shell} is ${where}`);
    }
    // Not a notice where it is asked for: whoever says yes must know to what.
    for (const { said } of changes) await (yes === true ? notice(said) : io.stderr.write(`${clean(said)}\n`));
    const question = {
      message: ['Make this change?', 'Make both changes?'][changes.length - 1] ?? 'Make all these changes?',
      instead: `add --yes to skip the question${isWanted ? `, or ${byHand}` : ''}`,
    };
    if (yes !== true && !(await askYesNo(context, question))) return await notice('nothing was changed');
    for (const { change } of changes) await change();
  } catch (error) {
    if (error instanceof FleetError || context.signal.aborted) throw error;
    const message = `the completion could not be ${to}: ${reasonOf(error)}`;
    throw new FleetError('output', message, { hint: byHand, cause: error });
  }
  const when = isWanted ? 'it works in shells that you start from now on' : 'shells that run already keep it';
  await notice(`completion for ${shell} is ${to}; ${when}`);
}

async function makePlan(shell: Shell, env: NodeJS.ProcessEnv): Promise<Plan> {
  const home = homeOfUser(env);
  if (home === undefined) throw configError('there is no home folder: HOME is not an absolute path');
  const data = env['XDG_DATA_HOME'] || join(home, '.local', 'share');
  const config = env['XDG_CONFIG_HOME'] || join(home, '.config');
  switch (shell) {
    case 'bash': {
      // The package bash-completion loads it from there by itself; not everybody has that.
      const scriptPath = join(data, 'bash-completion', 'completions', 'fleet');
      return { scriptPath, startLines: [{ path: join(home, '.bashrc'), line: sourceLine(scriptPath) }] };
    }
    case 'zsh': {
      const scriptPath = join(data, 'fleet', 'completion.zsh');
      const line = `(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }; ${sourceLine(scriptPath)}`;
      return { scriptPath, startLines: [{ path: join(env['ZDOTDIR'] || home, '.zshrc'), line }] };
    }
    case 'fish':
      return { scriptPath: join(config, 'fish', 'completions', 'fleet.fish'), startLines: [] };
    case 'powershell': {
      if (process.platform === 'win32')
        return planForWindows(env['LOCALAPPDATA'] || join(home, 'AppData', 'Local'), home);
      const scriptPath = join(data, 'fleet', 'completion.ps1');
      const line = loadLine(quoteForShell(scriptPath, 'win32'));
      return { scriptPath, startLines: [{ path: join(config, 'powershell', 'profile.ps1'), line }] };
    }
  }
}

/** For PowerShell and Windows PowerShell, whose profiles are among the documents; these may be in OneDrive. */
async function planForWindows(local: string, home: string): Promise<Plan> {
  const ask = "[Console]::OutputEncoding = [Text.Encoding]::UTF8; [Environment]::GetFolderPath('MyDocuments')";
  const powershell = windowsProgram('WindowsPowerShell', 'v1.0', 'powershell.exe');
  const options = { windowsHide: true, timeout: DOCUMENTS_LIMIT_MS };
  const told = await promisify(execFile)(powershell, ['-NoProfile', '-Command', ask], options).catch(() => undefined);
  const found = told?.stdout.trim() ?? '';
  const documents = isWholePath(found) ? found : join(home, 'Documents');
  // Windows PowerShell reads the line in the old code page: a user's name would be broken in it.
  const line = loadLine(String.raw`"$env:LOCALAPPDATA\fleet\completion.ps1"`);
  const paths = ['PowerShell', 'WindowsPowerShell'].map((folder) => join(documents, folder, 'profile.ps1'));
  return { scriptPath: join(local, 'fleet', 'completion.ps1'), startLines: paths.map((path) => ({ path, line })) };
}

const DOCUMENTS_LIMIT_MS = 10_000;

function loadLine(path: string): string {
  return `if (Test-Path ${path}) { . ${path} }`;
}

function sourceLine(path: string): string {
  const quoted = `'${path.replaceAll("'", "'\\''")}'`;
  return `[ ! -r ${quoted} ] || . ${quoted}`;
}

async function findChanges({ scriptPath, startLines }: Plan, shell: Shell, isWanted: boolean): Promise<Change[]> {
  const changes: Change[] = [];
  const present = await readText(scriptPath);
  const script = isWanted ? SCRIPTS[shell] : undefined;
  if (script === undefined) {
    if (present !== undefined) changes.push({ said: `this removes ${scriptPath}`, change: () => rm(scriptPath) });
  } else if (present !== script) {
    const said = `this ${present === undefined ? 'writes' : 'replaces'} ${scriptPath}`;
    const change = async () => {
      await makeFolder(dirname(scriptPath));
      await writeFile(scriptPath, script);
    };
    changes.push({ said, change });
  }
  return [...changes, ...(await Promise.all(startLines.map((each) => changeLine(each, isWanted)))).flat()];
}

async function changeLine({ path, line }: StartLine, isWanted: boolean): Promise<Change[]> {
  const text = (await readText(path)) ?? '';
  // Windows PowerShell writes such files.
  if (text.includes('\0')) throw new Error(`${path} is UTF-16, which fleet does not write`);
  const lines = text.split('\n');
  if (lines.includes(line) === isWanted) return [];
  const said = isWanted ? `this adds a line to ${path}: ${line}` : `this removes a line from ${path}: ${line}`;
  const add = async () => {
    await makeFolder(dirname(path));
    await appendFile(path, `${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`);
  };
  const remove = () => writeFile(path, lines.filter((one) => one !== line).join('\n'));
  return [{ said, change: isWanted ? add : remove }];
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
