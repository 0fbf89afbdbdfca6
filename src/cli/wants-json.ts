// Decides whether messages on stderr are printed as JSON lines.

/**
 * Returns whether messages on stderr are printed as JSON lines. Reads the raw arguments, because
 * the error may have occurred while they were parsed.
 */
export function wantsJson(argv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const asked = argv.flatMap((argument, index) => {
    if (argument === '--json') return ['json'];
    // `-o` can follow other short flags in the same argument, as in `-qo json`. Its value can
    // follow without a space, as in `-ojson`.
    const format = /^(?:--output(?:=|$)|-[qvV]*o=?)(.*)$/.exec(argument)?.[1];
    if (format === undefined) return [];
    return [format === '' ? (argv[index + 1] ?? '') : format];
  });
  return ['json', 'jsonl'].includes(asked.at(-1) ?? env['FLEET_OUTPUT'] ?? '');
}
