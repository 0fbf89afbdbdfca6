// Patterns that name properties of Unicode, made when they are first used: V8 takes up to 0.6 ms for each already when it reads the file.

/** The pattern, made at the first call. */
export function latePattern(source: string, flags = 'u'): () => RegExp {
  let pattern: RegExp | undefined;
  return () => {
    pattern ??= new RegExp(source, flags);
    return pattern;
  };
}
