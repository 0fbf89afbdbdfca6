// Default flags of single commands: `fleet config set "defaults.bicycles list.output" wide`.

import type { CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';
import { findBelow, namesBelow, takesValue } from '../../cli/line.js';
import { unknownWord } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { configError, FleetError, messageOf, usageError } from '../../errors.js';
import { writeResult } from '../../list/output-file.js';
import { findPlace } from '../../settings/config-folder.js';
import { loadLineSettings, saveDefault } from '../../settings/store.js';
import { hideInAddress } from '../../system/secrets.js';
import { hideInSetting } from '../../system/typed-secrets.js';
import { commandName, findFlag, isNeverDefault, PLACE_FLAGS } from '../alias/expand.js';

/** The parts of a key such as `defaults.bicycles list.output`. */
export interface DefaultKey {
  command: string;
  flag: string;
}

/**
 * Splits a key such as `defaults.bicycles list.output` into the command and the flag. Returns
 * undefined for the key of a setting.
 */
export function parseDefaultKey(written: string): DefaultKey | undefined {
  const [, command, flag] = /^defaults\.(.+)\.(?:--)?([a-z][a-z-]*)$/.exec(written) ?? [];
  return command === undefined || flag === undefined ? undefined : { command, flag };
}

/** Stores a default. Throws a FleetError of kind `usage` for an unknown command, flag or value. */
export async function setDefault(
  { io, notice }: Context,
  program: Command,
  key: DefaultKey,
  text: string,
): Promise<void> {
  const command = findCommand(program, key.command);
  const option = requireFlag(command, key.flag);
  const value = takesValue(option) ? text : readBoolean(key.flag, text);
  if (typeof value === 'string') checkValue(option, value);
  await saveDefault(findPlace(io.env), commandName(command), key.flag, value);
  await notice(`✓ "fleet ${commandName(command)}" now has the default --${key.flag} ${text}`);
}

/** Prints a default. Throws a FleetError of kind `config` when it is not set. */
export async function getDefault(
  context: Context,
  program: Command,
  written: DefaultKey,
): Promise<void> {
  const { defaults } = await loadLineSettings(context.io.env);
  const key = storedKey(program, written, defaults);
  const value = defaults.get(key.command)?.[key.flag];
  if (value === undefined)
    throw configError(
      `"fleet ${key.command}" has no default for --${key.flag}`,
      `set it with: fleet config set "defaults.${key.command}.${key.flag}" VALUE`,
    );
  await writeResult(context, `${value}\n`);
}

/** Removes the default of a flag. */
export async function unsetDefault(
  { io, notice }: Context,
  program: Command,
  written: DefaultKey,
): Promise<void> {
  const { defaults } = await loadLineSettings(io.env);
  const key = storedKey(program, written, defaults);
  if (defaults.get(key.command)?.[key.flag] === undefined)
    return notice(`"fleet ${key.command}" has no default for --${key.flag}`);
  await saveDefault(findPlace(io.env), key.command, key.flag, undefined);
  await notice(`✓ removed the default --${key.flag} of "fleet ${key.command}"`);
}

/**
 * Returns the key under which a default is stored. The key has the full name of the command, even
 * if the user typed another name such as `bikes list`. A default of a removed command keeps its
 * key.
 */
function storedKey(
  program: Command,
  key: DefaultKey,
  defaults: ReadonlyMap<string, unknown>,
): DefaultKey {
  if (defaults.has(key.command)) return key;
  return { ...key, command: commandName(findCommand(program, key.command)) };
}

/**
 * The text that `config list` shows instead of a token, or instead of a value that may contain a
 * token.
 */
export const HIDDEN_VALUE = '(hidden)';

/** The flags whose value is a secret, a command line or a webhook address. */
const HIDDEN_FLAGS: readonly string[] = ['exec', 'post', 'webhook-secret'];

/**
 * Returns the defaults as rows of `config list`, without secrets. `config get` prints the full
 * values.
 */
export async function defaultRows(env: NodeJS.ProcessEnv) {
  const { defaults } = await loadLineSettings(env);
  return [...defaults].flatMap(([command, flags]) =>
    Object.entries(flags).map(([flag, value]) => ({
      key: `defaults.${command}.${flag}`,
      value: HIDDEN_FLAGS.includes(flag) ? HIDDEN_VALUE : hideInDefault(String(value)),
      origin: 'settings',
      from: 'defaults',
    })),
  );
}

/** Hides the secrets in a default value. The query of a URL often contains a key. */
function hideInDefault(value: string): string {
  if (!URL.canParse(value)) return hideInSetting(value);
  return hideInSetting(hideInAddress(value)).replace(/\?.*$/s, '?[hidden]');
}

function findCommand(program: Command, name: string): Command {
  let command = program;
  for (const word of name.trim().split(/\s+/)) {
    const inner = findBelow(command, word);
    if (inner === undefined) throw unknownWord('command', word, namesBelow(command));
    command = inner;
  }
  if (command.commands.length === 0) return command;
  throw usageError(
    `"${name}" is a group of commands`,
    `choose one of: ${namesBelow(command)
      .map((each) => `${commandName(command)} ${each}`)
      .join(', ')}`,
  );
}

function requireFlag(command: Command, flag: string): Option {
  if (isNeverDefault(command, flag))
    throw usageError(
      `--${flag} cannot have a default`,
      PLACE_FLAGS.includes(flag)
        ? 'set the service for all commands with "fleet profile use" or "fleet config set base_url"'
        : 'flags that skip a question, choose a change or overwrite a file must be typed each time',
    );
  const option = findFlag(command, flag);
  if (option !== undefined) return option;
  const names = command.options.flatMap(({ long }) => (long == null ? [] : [long.slice(2)]));
  throw unknownWord('flag', flag, names);
}

function readBoolean(flag: string, text: string): boolean {
  if (text === 'true') return true;
  throw usageError(
    `--${flag} has no value; its default must be true`,
    `to remove it: fleet config unset`,
  );
}

function checkValue(option: Option, text: string): void {
  try {
    option.parseArg?.(text, undefined as never);
  } catch (thrown) {
    if (thrown instanceof FleetError) throw thrown;
    throw usageError(messageOf(thrown));
  }
}
