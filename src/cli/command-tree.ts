// Describes every command for programs: `fleet --help --json`.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { examplesOf } from './examples.js';
import { pathOf } from './help.js';

/** A command with its flags and examples. */
export interface CommandNode {
  /** The whole name: `fleet bicycles list`. */
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly usage: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: boolean;
    readonly variadic: boolean;
  }[];
  readonly flags: readonly {
    /** `-y, --yes`, `--limit <n>`. */
    readonly flags: string;
    readonly description: string;
    readonly default: unknown;
    readonly required: boolean;
  }[];
  readonly examples: readonly { readonly meaning: string; readonly line: string }[];
  readonly commands: readonly CommandNode[];
}

/** Returns a command and all its subcommands and flags, except the hidden ones. */
export function commandTree(command: Command): CommandNode {
  const help = command.createHelp();
  const name = pathOf(command);
  return {
    name,
    summary: command.summary(),
    description: command.description(),
    usage: `${name} ${command.usage()}`.trim(),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      description: argument.description,
      required: argument.required,
      variadic: argument.variadic,
    })),
    flags: help.visibleOptions(command).map((option) => ({
      flags: option.flags,
      description: option.description,
      default: option.defaultValue ?? null,
      required: option.mandatory,
    })),
    examples: examplesOf(command).map(([meaning, line]) => ({ meaning, line })),
    commands: help.visibleCommands(command).map(commandTree),
  };
}
