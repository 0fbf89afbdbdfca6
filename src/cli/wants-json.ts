// Decides whether messages on stderr are printed as JSON lines.

/**
 * Returns whether messages on stderr are printed as JSON lines. Reads the raw arguments, because
 * parsing them may have caused the error.
 */
export function wantsJson(argv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const asked = argv.flatMap((argument, index) => {
    if (argument === '--json') return ['json'];
    // `-o` can follow other short flags (`-qo json`), and its value can follow without a space.
    const format = /^(?:--output(?:=|$)|-[qvV]*o=?)(.*)$/.exec(argument)?.[1];
    if (format === undefined) return [];
    return [format === '' ? (argv[index + 1] ?? '') : format];
  });
  return ['json', 'jsonl'].includes(asked.at(-1) ?? env['FLEET_OUTPUT'] ?? '');
}
