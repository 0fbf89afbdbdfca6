// `fleet completion --install` and `--uninstall`: puts the script where the shell finds it, or takes it away, and says before what that changes.

import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Context } from '../../context.js';
import { configError, FleetError, messageOf } from '../../errors.js';
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

/** What is said of the two directions, and what they change. */
const DIRECTIONS = {
  installed: {
    find: (shell: Shell, plan: Plan) => findChanges(shell, plan),
    nothing: (shell: Shell, { scriptPath }: Plan) => `completion for ${shell} is installed already, in ${scriptPath}`,
    done: (shell: Shell) => `completion for ${shell} is installed; it works in shells that you start from now on`,
    byHand: (shell: Shell) => `put the script in place yourself: fleet completion ${shell}`,
  },
  removed: {
    find: (_shell: Shell, plan: Plan) => findRemovals(plan),
    nothing: (shell: Shell) => `completion for ${shell} is not installed`,
    done: (shell: Shell) => `completion for ${shell} is removed; shells that run already keep it`,
    byHand: () => 'remove the file and the line that were named yourself',
  },
};

/**
 * Installs the completion, or takes away what that wrote and nothing else; says before what it changes, and asks unless `--yes` says so. Throws
 * a FleetError of kind `usage` when nobody can be asked and `--yes` is missing, of kind `output` when it cannot be written.
 */
export async function changeCompletion(
  context: Context,
  shell: Shell,
  to: keyof typeof DIRECTIONS,
  { yes }: { yes?: boolean },
): Promise<void> {
  const { io, notice } = context;
  const { find, nothing, done, byHand } = DIRECTIONS[to];
  const step = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      const reason = messageOf(error);
      const hint = byHand(shell);
      throw new FleetError('output', `the completion could not be ${to}: ${reason}`, { hint, cause: error });
    }
  };
  const plan = makePlan(shell, io.env);
  const changes = await step(() => find(shell, plan));
  if (changes.length === 0) return notice(nothing(shell, plan));
  if (yes === true) for (const { said } of changes) await notice(said);
  else {
    // Not a notice: whoever says yes must know to what.
    for (const { said } of changes) await io.stderr.write(`${clean(said)}\n`);
    const message = changes.length === 1 ? 'Do this?' : 'Do both?';
    const or = to === 'installed' ? `, or ${byHand(shell)}` : '';
    const instead = `use --yes to skip the question${or}`;
    if (!(await askYesNo(context, { message, instead }))) return notice('nothing was changed');
  }
  for (const { change } of changes) await step(change);
  await notice(done(shell));
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

interface Change {
  said: string;
  change(): Promise<unknown>;
}

async function findChanges(shell: Shell, { scriptPath, startLine }: Plan): Promise<Change[]> {
  const changes: Change[] = [];
  const script = SCRIPTS[shell];
  const present = await readText(scriptPath);
  if (present !== script) {
    changes.push({
      said: `this ${present === undefined ? 'writes' : 'replaces'} ${scriptPath}`,
      change: async () => {
        await makeFolder(dirname(scriptPath));
        await writeFile(scriptPath, script);
      },
    });
  }
  if (startLine === undefined) return changes;
  const { path, line } = startLine;
  const text = await readText(path);
  if (text?.split('\n').includes(line) === true) return changes;
  changes.push({
    said: `this adds a line to ${path}: ${line}`,
    change: () => appendFile(path, `${text === undefined || text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`),
  });
  return changes;
}

async function findRemovals({ scriptPath, startLine }: Plan): Promise<Change[]> {
  const changes: Change[] = [];
  if ((await readText(scriptPath)) !== undefined) {
    changes.push({ said: `this removes ${scriptPath}`, change: () => rm(scriptPath) });
  }
  const lines = (startLine === undefined ? undefined : await readText(startLine.path))?.split('\n') ?? [];
  if (startLine === undefined || !lines.includes(startLine.line)) return changes;
  const { path, line } = startLine;
  const left = lines.filter((one) => one !== line).join('\n');
  changes.push({ said: `this removes a line from ${path}: ${line}`, change: () => writeFile(path, left) });
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
