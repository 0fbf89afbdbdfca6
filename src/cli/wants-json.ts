// Decides whether stderr is JSON.

/** Whether the lines of stderr are wanted as JSON; read from the bare arguments, for the error may be that they cannot be parsed. */
export function wantsJson(argv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const asked = argv.flatMap((argument, index) => {
    if (argument === '--json') return ['json'];
    // `-o`, also behind other short flags (`-qo json`) and with its value joined to it.
    const format = /^(?:--output(?:=|$)|-[qvV]*o=?)(.*)$/.exec(argument)?.[1];
    if (format === undefined) return [];
    return [format === '' ? (argv[index + 1] ?? '') : format];
  });
  return ['json', 'jsonl'].includes(asked.at(-1) ?? env['FLEET_OUTPUT'] ?? '');
}
