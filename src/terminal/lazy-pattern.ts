// Regular expressions with Unicode properties. They are compiled on first use, because each takes
// V8 up to 0.6 ms at startup.

/** Returns a function that compiles the pattern when it is first called. */
export function lazyPattern(source: string, flags = 'u'): () => RegExp {
  let pattern: RegExp | undefined;
  return () => {
    pattern ??= new RegExp(source, flags);
    return pattern;
  };
}
