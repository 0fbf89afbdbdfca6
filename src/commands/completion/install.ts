// `fleet completion --install` and `--uninstall`: puts the script where the shell finds it, or takes it away, and says before what that changes.

import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Context } from '../../context.js';
import { configError, FleetError, reasonOf } from '../../errors.js';
import { hasCode, makeFolder } from '../../folder.js';
import { clean } from '../../terminal/clean.js';
import { askYesNo } from '../../terminal/prompt.js';
import { homeOfUser } from '../../user.js';
import { SCRIPTS } from './scripts.js';
import type { Shell } from './shells.js';

/** What the shell needs: the script in a file, and a line in the file that the shell reads at its start. */
interface Plan {
  scriptPath: string;
  /** None for a shell that finds the script by itself. */
  startLine?: { path: string; line: string };
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
  const plan = makePlan(shell, io.env);
  try {
    const changes = await findChanges(plan, shell, isWanted);
    if (changes.length === 0) {
      const where = isWanted ? `installed already, in ${plan.scriptPath}` : 'not installed';
      return await notice(`completion for ${shell} is ${where}`);
    }
    // Not a notice where it is asked for: whoever says yes must know to what.
    for (const { said } of changes) await (yes === true ? notice(said) : io.stderr.write(`${clean(said)}\n`));
    const question = {
      message: changes.length === 1 ? 'Make this change?' : 'Make both changes?',
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

function makePlan(shell: Shell, env: NodeJS.ProcessEnv): Plan {
  const home = homeOfUser(env);
  if (home === undefined) throw configError('there is no home folder: HOME is not an absolute path');
  const data = env['XDG_DATA_HOME'] || join(home, '.local', 'share');
  const config = env['XDG_CONFIG_HOME'] || join(home, '.config');
  switch (shell) {
    case 'bash': {
      // The package bash-completion loads it from there by itself; not everybody has that.
      const scriptPath = join(data, 'bash-completion', 'completions', 'fleet');
      return { scriptPath, startLine: { path: join(home, '.bashrc'), line: sourceLine(scriptPath) } };
    }
    case 'zsh': {
      const scriptPath = join(data, 'fleet', 'completion.zsh');
      const line = `(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }; ${sourceLine(scriptPath)}`;
      return { scriptPath, startLine: { path: join(env['ZDOTDIR'] || home, '.zshrc'), line } };
    }
    case 'fish':
      return { scriptPath: join(config, 'fish', 'completions', 'fleet.fish') };
  }
}

function sourceLine(path: string): string {
  const quoted = `'${path.replaceAll("'", "'\\''")}'`;
  return `[ ! -r ${quoted} ] || . ${quoted}`;
}

async function findChanges({ scriptPath, startLine }: Plan, shell: Shell, isWanted: boolean): Promise<Change[]> {
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
  if (startLine === undefined) return changes;
  const { path, line } = startLine;
  const text = await readText(path);
  const lines = text?.split('\n') ?? [];
  if (lines.includes(line) === isWanted) return changes;
  const separator = text === undefined || text === '' || text.endsWith('\n') ? '' : '\n';
  changes.push(
    isWanted
      ? { said: `this adds a line to ${path}: ${line}`, change: () => appendFile(path, `${separator}${line}\n`) }
      : {
          said: `this removes a line from ${path}: ${line}`,
          change: () => writeFile(path, lines.filter((one) => one !== line).join('\n')),
        },
  );
  return changes;
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
