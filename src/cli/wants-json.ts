// Decides whether stderr has JSON lines.

/**
 * Whether stderr has JSON lines. Reads the raw arguments, because their parsing may have failed.
 */
export function wantsJson(argv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const asked = argv.flatMap((argument, index) => {
    if (argument === '--json') return ['json'];
    // `-o` can follow other short flags (`-qo json`), and its value can be joined to it.
    const format = /^(?:--output(?:=|$)|-[qvV]*o=?)(.*)$/.exec(argument)?.[1];
    if (format === undefined) return [];
    return [format === '' ? (argv[index + 1] ?? '') : format];
  });
  return ['json', 'jsonl'].includes(asked.at(-1) ?? env['FLEET_OUTPUT'] ?? '');
}
