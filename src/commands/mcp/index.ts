// Declares `fleet mcp`, a server for AI assistants.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { addMcpFlags } from './flags.js';

const DESCRIPTION = `Serve the Model Context Protocol on stdin and stdout, for assistants. The tools read the fleet; plan_change writes a
plan that a person carries out with "fleet apply". No tool changes anything at the service, whatever the client says.
Settings for clients, and what an assistant may do: fleet help agents`;

export function addMcp(program: Command, run: Run): void {
  const mcp = addVerb(
    program,
    ['mcp', 'serve assistants by the Model Context Protocol', DESCRIPTION],
    ['serve the settings in use', 'fleet mcp'],
    ['another profile, without plans', 'fleet mcp --profile berlin --toolset read'],
  );
  addMcpFlags(mcp).action(run(async () => (await import('./serve.js')).serveAssistants));
}
