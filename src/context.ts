// The context of a command: I/O, settings and client, each created on first use.

import { setMaxListeners } from 'node:events';
import { FleetError } from './errors.js';
import type { Client, ClientOptions, HttpLog } from './http/client.js';
import type { Network } from './http/network.js';
import type { Tokens } from './http/types.js';
import type { Settings } from './settings/resolve.js';
import type { Stored } from './settings/store.js';
import type { TokenSource } from './settings/token.js';
import type { Clock } from './system/clock.js';
import { hideJwts } from './system/secrets.js';
import { openTimeZone, type TimeZone } from './system/time-zone.js';
import { clean, escapeJson } from './terminal/clean.js';
import { loadPaint } from './terminal/colour.js';
import type { DocumentFormat, PictureFormat } from './terminal/formats.js';
import type { Io, Streams } from './terminal/io.js';
import type { Jq } from './terminal/jq/results.js';
import { drawMark, splitMark } from './terminal/marks.js';
import type { Now } from './terminal/typed-time.js';

/** Everything that a command gets from its process, except the arguments. */
export interface World extends Streams {
  /** The emitter of signals and of Node's warnings: the process, or an emitter in tests. */
  signals: Pick<NodeJS.EventEmitter, 'on' | 'off'>;
  /**
   * Called at the end of the process when an operation cannot be cancelled. Examples are output
   * that nobody reads, or a DNS lookup without an answer. The process should then exit without
   * waiting for this operation. (Node nevertheless waits for its threads, and therefore for the DNS
   * lookup.)
   */
  abandon?(): void;
  clock: Clock;
  /**
   * Whether every client of the process refuses requests that change data. `fleet mcp` sets this.
   */
  onlyReads?: boolean;
}

/**
 * The flags of every service command, as commander parsed them (cli.md section 1). Undefined when
 * the flag is missing.
 */
export interface GlobalFlags extends OutputFlags, ServiceFlags, TalkFlags {}

/** Flags for the format and destination of the result. */
export interface OutputFlags {
  output?: string;
  json?: boolean;
  /** The program of `--jq`. */
  jq?: string;
  /** The file to which the result is written instead of stdout. */
  file?: string;
  /** csv for Excel. */
  excel?: boolean;
  /** `-o svg` or `-o html`. */
  picture?: PictureFormat;
  /** `-o md` or `-o html` of a report. */
  document?: DocumentFormat;
  columns?: string[];
  /** The IANA name of the time zone for local times. Default: the machine's zone. */
  timezone?: string;
  /** `-o wide`: every column, with untruncated values. */
  wide?: boolean;
  /** Whether long values are truncated. False after `--no-truncate`. */
  truncate?: boolean;
  /** Whether column headers are printed. False after `--no-headers`. */
  headers?: boolean;
  /** Whether files get readable English headings. */
  headings?: boolean;
}

/** Flags for the service and its requests. */
export interface ServiceFlags {
  profile?: string;
  baseUrl?: string;
  sseUrl?: string;
  apiVersion?: string;
  /** Seconds. */
  timeout?: number;
  /** Seconds. */
  deadline?: number;
  retries?: number;
  pageSize?: number;
  /** Whether a mirror may be used. False after `--no-mirror`. */
  mirror?: boolean;
}

/** Flags for messages other than the result. */
export interface TalkFlags {
  trace?: boolean;
  verbose?: boolean;
  quiet?: boolean;
  /** Whether fleet may prompt the user. False after `--no-input`. */
  input?: boolean;
  /** Whether colours may be used. False after `--no-color`. */
  color?: boolean;
}

/**
 * The options that a command may override when it opens its own client. `settings` replaces the
 * settings of the run.
 */
export type ClientOverrides = Partial<
  Omit<ClientOptions, 'network' | 'secrets' | 'readOnlyFailure'>
> & {
  settings?: Settings;
};

/** The settings and the stored tokens. Fleet looks for a token in these places. */
type TokenSettings = { stored: Stored; settings: Settings };

/** The signals of a run. */
export interface Signals {
  /**
   * Aborted by the first SIGINT, SIGTERM or SIGHUP, with a FleetError of kind `interrupted`,
   * `terminated` or `hangup` as its reason.
   */
  readonly signal: AbortSignal;
  /**
   * Aborted by the second SIGINT, SIGTERM or SIGHUP. The command then stops without waiting for
   * requests in flight.
   */
  readonly urgentSignal: AbortSignal;
  /**
   * After this call, a signal ends the process immediately. A command calls this before work that
   * cannot react to signals but can safely be killed.
   */
  leaveSignals(): void;
}

export interface Context extends Signals {
  readonly io: Io;
  readonly flags: GlobalFlags;
  readonly clock: Clock;
  /**
   * The time zone in which times are shown: the zone of `--timezone`, otherwise the machine's zone.
   */
  readonly zone: TimeZone;
  /** The current time, for relative times that people type. */
  now(): Now;
  settings(): Promise<Settings>;
  /**
   * Returns the token source of the settings. When some settings are invalid, the caller passes
   * replacements in `given`.
   */
  token(given?: TokenSettings): Promise<TokenSource>;
  /**
   * Returns the network connections of the process. All clients and streams share them. On the
   * first call, `timeoutMs` overrides the timeout in the settings.
   */
  network(timeoutMs?: number): Promise<Network>;
  /**
   * Returns the client. The first signal (such as Ctrl-C) aborts the client's requests. With
   * overrides, returns a separate client. For example, bulk/in-flight.ts overrides the signal,
   * because its changes may finish after Ctrl-C.
   */
  client(overrides?: ClientOverrides): Promise<Client>;
  /**
   * Returns the compiled program of `--jq`, or undefined without the flag. Throws a usage error
   * when the program does not compile. The program is compiled before the command runs, so no
   * request has been sent when compilation fails.
   */
  jq(): Promise<Jq | undefined>;
  /**
   * Prints a line without control characters on stderr. With `--json`, prints an object
   * `{"notice"}` instead. `--quiet` suppresses both. The line may begin with `✓ ` for a success, or
   * with `! ` or `warning: ` for a warning. A terminal shows these prefixes as coloured marks.
   */
  notice(line: string): Promise<void>;
  /** Registers work for the end of the command. The work runs even after an error. */
  atEnd(work: () => Promise<void>): void;
  /** Runs another command line with its own streams. Resolves with its exit code. */
  runLine(argv: readonly string[], world: World): Promise<number>;
}

/**
 * Returns the action of a subcommand for commander. The action loads the code of the subcommand,
 * creates a context from the flags, and passes on the operands and options. program.ts provides
 * this function.
 */
export type Run = <Given extends unknown[]>(
  load: () => Promise<(context: Context, ...given: Given) => Promise<void>>,
) => (...given: [...Given, ...unknown[]]) => Promise<void>;

/** Creates a value on first use, then returns the same one. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Opens the context of one command. */
export function openContext(
  world: Pick<World, 'clock' | 'abandon' | 'onlyReads'>,
  io: Io,
  flags: GlobalFlags,
  signals: Signals,
  runLine: Context['runLine'] = refuseLine,
) {
  const { clock } = world;
  const { signal } = signals;
  const zone = openTimeZone(flags.timezone);
  // Each request in flight adds a listener to the signals, up to 64 of them. Without this call,
  // Node would warn of a memory leak.
  setMaxListeners(0, signal, signals.urgentSignal);
  const notice = async (line: string) => {
    if (flags.quiet === true) return;
    await io.stderr.write(`${await showNotice(line, io)}\n`);
  };
  const stored = once(
    async (): Promise<Stored> => (await import('./settings/store.js')).loadStored(io.env),
  );
  const settings = once(async () => {
    const { resolveSettings } = await import('./settings/resolve.js');
    return resolveSettings({ flags, env: io.env, stored: await stored() });
  });
  /**
   * Aborted when the command ends. A token command that hangs would otherwise keep the process
   * alive.
   */
  const over = new AbortController();
  const findToken = async (given: TokenSettings) => {
    const sources = {
      env: io.env,
      clock,
      zone,
      signal: AbortSignal.any([signal, over.signal]),
      notice,
      secrets: io.secrets,
    };
    const anonymous = (renewalSignal: AbortSignal) =>
      connections.client({ ...given, token: ANONYMOUS, signal: renewalSignal });
    const tokens = await import('./settings/token.js');
    const source = await tokens.findToken({ ...sources, ...given, anonymous });
    endings.push(source.settle);
    return source;
  };
  const ownToken = once(async () =>
    findToken({ stored: await stored(), settings: await settings() }),
  );
  const token: Context['token'] = (given) => (given === undefined ? ownToken() : findToken(given));
  const onlyReads = world.onlyReads === true;
  const connections = openConnections({ io, flags, clock, signal, settings, token, onlyReads });
  const { network, client } = connections;
  const jq = once(async () =>
    flags.jq === undefined ? undefined : startJq(flags.jq, { io, clock, signal, notice }),
  );
  const endings: (() => Promise<void>)[] = [];
  const atEnd = (work: () => Promise<void>) => void endings.push(work);
  const context: Context = {
    ...signals,
    io,
    flags,
    clock,
    zone,
    now: () => ({ ms: clock.wallMs(), zone }),
    settings,
    token,
    network,
    client,
    jq,
    notice,
    atEnd,
    runLine,
  };
  return {
    context,
    /** Closes every connection. */
    close: async () => {
      over.abort(new FleetError('interrupted', 'the command is over'));
      for (const work of endings) await work();
      await connections.close(world.abandon);
      if (flags.jq !== undefined) await (await jq().catch(() => undefined))?.close();
    },
  };
}

/**
 * Opens the process's network and clients, each on first use. At the end of the process, pending
 * DNS lookups are abandoned.
 */
function openConnections(
  given: Pick<Context, 'io' | 'flags' | 'clock' | 'signal' | 'settings' | 'token'> & {
    onlyReads: boolean;
  },
) {
  const { io, flags, clock, signal, settings, token, onlyReads } = given;
  let opened: Promise<Network> | undefined;
  const openOnce = async (timeoutMs: number | undefined) => {
    const { openNetwork } = await import('./http/network.js');
    // Prints the warning even with `--quiet`, because other users can read the token.
    if (io.env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
      await io.stderr.write(`${await showNotice(UNVERIFIED, io)}\n`);
    const limitMs = timeoutMs ?? (await settings()).timeout.value;
    return openNetwork(io.env, limitMs, io.secrets);
  };
  const network: Context['network'] = (timeoutMs) => {
    opened ??= openOnce(timeoutMs);
    return opened;
  };
  const clientWith = async (overrides: ClientOverrides) => {
    const { openClient } = await import('./http/client.js');
    const { readOnlyFailure, requireBaseUrl } = await import('./settings/resolve.js');
    const found = overrides.settings ?? (await settings());
    return openClient({
      baseUrl: overrides.baseUrl ?? requireBaseUrl(found),
      apiVersion: found.apiVersion.value,
      timeoutMs: found.timeout.value,
      deadlineMs: flags.deadline === undefined ? undefined : flags.deadline * 1000,
      retries: found.retries.value,
      pageSize: flags.pageSize,
      token: overrides.token ?? (await token()),
      network: await network(found.timeout.value),
      log: await openLog(flags, io),
      secrets: io.secrets,
      clock,
      signal,
      ...overrides,
      // Every client of the process is created here. In a read-only process, each client refuses
      // changes.
      readOnlyFailure: onlyReads ? ONLY_READS : readOnlyFailure(found),
    });
  };
  const sharedClient = once(() => clientWith({}));
  const client: Context['client'] = (overrides) =>
    overrides === undefined ? sharedClient() : clientWith(overrides);
  const close = async (abandon: World['abandon']) => {
    // A failure to open the network is ignored here, because the command has already reported it.
    const connections = await opened?.catch(() => undefined);
    await connections?.close();
    if (connections?.isLookingUp()) abandon?.();
  };
  return { network, client, close };
}

/**
 * Refuses to run another command line. It is used in contexts that do not belong to a command, such
 * as the context of shell completion.
 */
async function refuseLine(): Promise<never> {
  throw new FleetError('internal', 'fleet cannot run another command line here');
}

/** Returns a token source with a token that is never renewed. */
export function fixedToken(token: string, refusalHint?: string): Tokens {
  return { get: async () => token, renew: async () => undefined, refusalHint };
}

/** The error for every change in a read-only process (World.onlyReads). */
const ONLY_READS = new FleetError('config', 'this server is read-only: no tool can send a change', {
  hint: 'write a plan with plan_change; a person can then apply the plan with "fleet apply"',
});

const UNVERIFIED =
  '! NODE_TLS_REJECT_UNAUTHORIZED=0: certificates are not verified; anyone on the way can read the token';

/** The token source of a client that sends no token. */
export const ANONYMOUS = fixedToken('');

/**
 * Formats a notice for stderr. The result is a JSON object or a plain line, or on a terminal a line
 * with a coloured mark.
 */
async function showNotice(line: string, { isJson, stderr }: Io): Promise<string> {
  // Hides tokens, because a notice may quote a token that the user typed in the wrong place.
  const shown = hideJwts(line);
  const { mark, text } = splitMark(shown);
  // The mark for success is shown only on terminals.
  const plain = mark === 'done' ? text : shown;
  if (isJson) return escapeJson(JSON.stringify({ notice: plain.startsWith('! ') ? text : plain }));
  if (!stderr.isTerminal || mark === undefined) return clean(plain);
  return `${drawMark(mark, stderr, await loadPaint(stderr.colorLevel))} ${clean(text)}`;
}

type JqContext = Pick<Context, 'io' | 'clock' | 'signal' | 'notice'>;

async function startJq(program: string, { io, clock, signal, notice }: JqContext): Promise<Jq> {
  const { openJq } = await import('./terminal/jq/open.js');
  const paint = await loadPaint(io.stdout.colorLevel);
  return openJq(program, {
    terminal: io.stdout.isTerminal,
    paintKey: paint.cyan,
    say: (line) => void notice(`jq: ${line}`),
    signal,
    clock,
  });
}

async function openLog(flags: GlobalFlags, io: Io): Promise<HttpLog> {
  const { openHttpLog } = await import('./views/exchange.js');
  return openHttpLog({ ...flags, isJson: io.isJson }, (line) => void io.stderr.write(`${line}\n`));
}
