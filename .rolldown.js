// Bundles the program: one file for what nearly every command needs, one for each heavy library and each rarer command.

export default {
  input: 'src/main.ts',
  platform: 'node',
  output: {
    dir: 'dist',
    format: 'esm',
    sourcemap: true,
    cleanDir: true,
    codeSplitting: {
      groups: [
        {
          name: 'fleet',
          test: /src\/(?!sandbox|http\/(agent|proxy|stream)|commands\/(sandbox|demo|watch|doctor|completion|api|bicycles\/bulk))/,
        },
      ],
    },
  },
};
