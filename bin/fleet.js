#!/usr/bin/env node
// Hands the arguments and the real streams to main, and sets the exit code; nothing else.
import { main } from '../dist/main.js';

process.exitCode = await main(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signals: process,
  now: Date.now,
});
