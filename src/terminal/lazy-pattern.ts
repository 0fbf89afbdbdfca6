// Regular expressions with Unicode properties, compiled when first used: each costs V8 up to 0.6 ms at start-up.

/** Returns a function that compiles the pattern on its first call. */
export function lazyPattern(source: string, flags = 'u'): () => RegExp {
  let pattern: RegExp | undefined;
  return () => {
    pattern ??= new RegExp(source, flags);
    return pattern;
  };
}
