// What every command is handed: the ways in and out, the settings, the client; each made on first use.

import type { Client } from './http/client.js';
import type { Network } from './http/network.js';
import type { Settings } from './settings/resolve.js';
import type { TokenSource } from './settings/token.js';
import type { Io } from './terminal/io.js';

/** The flags every service command takes, as commander parsed them (cli.md section 1). Undefined: not given. */
export interface GlobalFlags {
  output?: string;
  json?: boolean;
  columns?: string[];
  profile?: string;
  baseUrl?: string;
  sseUrl?: string;
  apiVersion?: string;
  timeout?: number;
  retries?: number;
  trace?: boolean;
  verbose?: boolean;
  quiet?: boolean;
  /** `--no-input` */
  input?: boolean;
  /** `--no-color` */
  color?: boolean;
}

export interface Context {
  readonly io: Io;
  readonly flags: GlobalFlags;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Aborted by the first SIGINT or SIGTERM, with a FleetError of kind `interrupted` or `terminated` as its reason. */
  readonly signal: AbortSignal;
  /** Aborted by the second one: stop without waiting for what is in flight. */
  readonly urgentSignal: AbortSignal;
  settings(): Promise<Settings>;
  token(): Promise<TokenSource>;
  /** The dispatcher of the process; the client and every stream share it. */
  network(): Promise<Network>;
  client(): Promise<Client>;
  /** A line on stderr, cleaned of control characters; kept back by `--quiet`. */
  notice(line: string): Promise<void>;
}
