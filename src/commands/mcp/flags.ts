// The flags of `fleet mcp`.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import type { FlagsOf, NoFlags } from '../../cli/command.js';
import { oneOf } from '../../cli/options.js';
import { TOOLSETS } from './toolsets.js';

/** Adds the flags of `fleet mcp`. */
export function addMcpFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return command.option(
    '--toolset <name>',
    'read: without plan_change; plan: only plan_change and look-ups; all',
    oneOf('toolset', TOOLSETS),
    'all',
  );
}

export type McpOptions = FlagsOf<typeof addMcpFlags<[], NoFlags>>;
