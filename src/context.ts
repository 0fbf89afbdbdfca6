// What every command is handed: the ways in and out, the settings, the client; each made on first use.

import type { Client, HttpLog } from './http/client.js';
import type { Network } from './http/network.js';
import type { Settings } from './settings/resolve.js';
import type { Stored } from './settings/store.js';
import type { TokenSource } from './settings/token.js';
import { clean } from './terminal/clean.js';
import type { Io, Streams } from './terminal/io.js';

/** What a process hands in besides its arguments. */
export interface World extends Streams {
  /** Where SIGINT and SIGTERM come from: the process, or an emitter in tests. */
  signals: Pick<NodeJS.EventEmitter, 'on' | 'off'>;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** The operator's wish to end: once, and once more. */
export interface Interruption {
  readonly signal: AbortSignal;
  readonly urgentSignal: AbortSignal;
  stop(): void;
}

/** The flags every service command takes, as commander parsed them (cli.md section 1). Undefined: not given. */
export interface GlobalFlags {
  output?: string;
  json?: boolean;
  columns?: string[];
  profile?: string;
  baseUrl?: string;
  sseUrl?: string;
  apiVersion?: string;
  /** Seconds. */
  timeout?: number;
  retries?: number;
  trace?: boolean;
  verbose?: boolean;
  quiet?: boolean;
  /** False after `--no-input`. */
  input?: boolean;
  /** False after `--no-color`. */
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

export interface OpenContext {
  context: Context;
  /** Lets go of every connection. */
  close(): Promise<void>;
}

/** Makes a value on first use and hands out the same one ever after. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Opens the context of one command. */
export function openContext(world: World, io: Io, flags: GlobalFlags, interruption: Interruption): OpenContext {
  const { signal, urgentSignal } = interruption;
  const notice = async (line: string) => {
    if (flags.quiet !== true) await io.stderr.write(`${clean(line)}\n`);
  };
  const stored = once(async (): Promise<Stored> => (await import('./settings/store.js')).loadStored(io.env));
  const settings = once(async () => {
    const { resolveSettings } = await import('./settings/resolve.js');
    return resolveSettings(flags, io.env, await stored());
  });
  const token = once(async () => {
    const { findToken } = await import('./settings/token.js');
    const facts = { env: io.env, stored: await stored(), settings: await settings(), now: world.now, signal, notice };
    return hideToken(await findToken(facts), io);
  });
  let isNetworkOpen = false;
  const network = once(async () => {
    const { openNetwork } = await import('./http/network.js');
    isNetworkOpen = true;
    return openNetwork(io.env, (await settings()).timeoutMs.value);
  });
  const client = once(async () => {
    const { openClient } = await import('./http/client.js');
    const { requireBaseUrl } = await import('./settings/resolve.js');
    const found = await settings();
    return openClient({
      baseUrl: requireBaseUrl(found),
      apiVersion: found.apiVersion.value,
      timeoutMs: found.timeoutMs.value,
      retries: found.retries.value,
      token: await token(),
      network: await network(),
      log: await openLog(flags, io),
      now: world.now,
      signal,
    });
  });
  return {
    context: { io, flags, now: world.now, signal, urgentSignal, settings, token, network, client, notice },
    close: async () => {
      if (isNetworkOpen) await (await network()).close();
    },
  };
}

async function openLog(flags: GlobalFlags, io: Io): Promise<HttpLog> {
  const { openHttpLog } = await import('./views/exchange.js');
  return openHttpLog(flags, (line) => void io.stderr.write(`${clean(line)}\n`));
}

/** The same source; every token that it gives is taken out of what goes to stderr. */
function hideToken(source: TokenSource, io: Io): TokenSource {
  return {
    ...source,
    async get() {
      const token = await source.get();
      io.hide(token);
      return token;
    },
    async renew(refused) {
      const token = await source.renew(refused);
      if (token !== undefined) io.hide(token);
      return token;
    },
  };
}
