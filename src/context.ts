// What a command gets: I/O, settings and client, each created when first used.

import { setMaxListeners } from 'node:events';
import { FleetError } from './errors.js';
import type { Client, ClientOptions, HttpLog } from './http/client.js';
import type { Network } from './http/network.js';
import type { Tokens } from './http/types.js';
import type { Settings } from './settings/resolve.js';
import type { Stored } from './settings/store.js';
import type { TokenSource } from './settings/token.js';
import type { Clock } from './system/clock.js';
import { openTimeZone, type TimeZone } from './system/time-zone.js';
import { clean, escapeJson } from './terminal/clean.js';
import { loadPaint } from './terminal/colour.js';
import type { PictureFormat } from './terminal/formats.js';
import type { Io, Streams } from './terminal/io.js';
import type { Jq } from './terminal/jq/results.js';
import { drawMark, splitMark } from './terminal/marks.js';
import type { Now } from './terminal/typed-time.js';

/** What a process provides besides its arguments. */
export interface World extends Streams {
  /** Where signals and Node's warnings come from: the process, or an emitter in tests. */
  signals: Pick<NodeJS.EventEmitter, 'on' | 'off'>;
  /**
   * Called at the end when something is left that nobody can give up, output that its reader does not take or a name server that does not
   * answer: the process must not wait for it. Node joins its threads at the exit all the same, and so waits for the name server.
   */
  abandon?(): void;
  clock: Clock;
}

/** The flags every service command takes, as commander parsed them (cli.md section 1). Undefined: not given. */
export interface GlobalFlags extends OutputFlags, ServiceFlags, TalkFlags {}

/** What the result looks like, and where it goes. */
export interface OutputFlags {
  output?: string;
  json?: boolean;
  /** The program of `--jq`. */
  jq?: string;
  /** Where the result goes instead of stdout. */
  file?: string;
  /** csv for Excel. */
  excel?: boolean;
  /** `-o svg` or `-o html`. */
  picture?: PictureFormat;
  columns?: string[];
  /** The IANA name of the zone of local times; the machine's zone when absent. */
  timezone?: string;
  /** `-o wide`: every column, whole values. */
  wide?: boolean;
  /** False after `--no-truncate`. */
  truncate?: boolean;
  /** False after `--no-headers`. */
  headers?: boolean;
}

/** Which service is asked, and how. */
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
  /** False after `--no-mirror`. */
  mirror?: boolean;
}

/** Notices beside the result. */
export interface TalkFlags {
  trace?: boolean;
  verbose?: boolean;
  quiet?: boolean;
  /** False after `--no-input`. */
  input?: boolean;
  /** False after `--no-color`. */
  color?: boolean;
}

/** What a command may replace in a client of its own; `settings` in the place of those of the run. */
export type ClientOverrides = Partial<
  Omit<ClientOptions, 'network' | 'secrets' | 'readOnlyFailure'>
> & {
  settings?: Settings;
};

/** Where a token is looked for. */
type TokenSettings = { stored: Stored; settings: Settings };

/** The signals of a run. */
export interface Signals {
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP, with a FleetError of kind `interrupted`, `terminated` or `hangup` as its reason. */
  readonly signal: AbortSignal;
  /** Aborted by the second one: stop without waiting for what is in flight. */
  readonly urgentSignal: AbortSignal;
  /** From here on a signal ends the process at once: for work that nothing else can interrupt, and that leaves nothing half done. */
  leaveSignals(): void;
}

export interface Context extends Signals {
  readonly io: Io;
  readonly flags: GlobalFlags;
  readonly clock: Clock;
  /** The zone of times for people: that of `--timezone`, else the machine's. */
  readonly zone: TimeZone;
  /** The present time, for times that people type. */
  now(): Now;
  settings(): Promise<Settings>;
  /** The source of tokens of the settings; of others for one that looks at settings of which some are refused. */
  token(given?: TokenSettings): Promise<TokenSource>;
  /** The connections of the process; all clients and streams share them. `timeoutMs` is in the place of that of the settings, the first time. */
  network(timeoutMs?: number): Promise<Network>;
  /**
   * The client, whose requests the first signal to end aborts. With overrides it is a client of its own: with another signal,
   * for instance, for changes whose answer is waited for a moment longer (commands/shared/in-flight.ts).
   */
  client(overrides?: ClientOverrides): Promise<Client>;
  /**
   * The program of `--jq`, compiled; undefined without the flag. Throws a usage error for one that does not compile: asked for
   * before the command runs, so that nothing has been sent then.
   */
  jq(): Promise<Jq | undefined>;
  /**
   * A line on stderr, cleaned of control characters, with `--json` an object `{"notice"}`; kept back by `--quiet`. It may begin with
   * `✓ ` for what was done, `! ` or `warning: ` for what to look at: a terminal shows these as marks.
   */
  notice(line: string): Promise<void>;
  /** Runs the work at the end of the command, however it ended. */
  atEnd(work: () => Promise<void>): void;
}

/**
 * What a noun declares as the action of a verb: loads it when it is wanted, and hands it a context made from the flags, then what
 * commander read (operands, options). Handed down by program.ts.
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
  world: Pick<World, 'clock' | 'abandon'>,
  io: Io,
  flags: GlobalFlags,
  signals: Signals,
) {
  const { clock } = world;
  const { signal } = signals;
  const zone = openTimeZone(flags.timezone);
  // Every request in flight listens to them, and there can be 64: Node would warn of a leak.
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
  /** Aborted at the end: a token command that hangs must not keep the process alive. */
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
  const connections = openConnections({ io, flags, clock, signal, settings, token });
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

/** The network of the process and its clients, each opened on first use; what still waits for a name server when it is closed is abandoned. */
function openConnections(
  given: Pick<Context, 'io' | 'flags' | 'clock' | 'signal' | 'settings' | 'token'>,
) {
  const { io, flags, clock, signal, settings, token } = given;
  let opened: Promise<Network> | undefined;
  const openOnce = async (timeoutMs: number | undefined) => {
    const { openNetwork } = await import('./http/network.js');
    // With -q too: the token is at risk.
    if (io.env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
      await io.stderr.write(`${await showNotice(UNVERIFIED, io)}\n`);
    return openNetwork(io.env, timeoutMs ?? (await settings()).timeout.value);
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
      readOnlyFailure: readOnlyFailure(found),
      ...overrides,
    });
  };
  const sharedClient = once(() => clientWith({}));
  const client: Context['client'] = (overrides) =>
    overrides === undefined ? sharedClient() : clientWith(overrides);
  const close = async (abandon: World['abandon']) => {
    // A failure to open it was reported already.
    const connections = await opened?.catch(() => undefined);
    await connections?.close();
    if (connections?.isLookingUp()) abandon?.();
  };
  return { network, client, close };
}

/** A token that stays as it is. */
export function fixedToken(token: string, refusalHint?: string): Tokens {
  return { get: async () => token, renew: async () => undefined, refusalHint };
}

const UNVERIFIED =
  '! NODE_TLS_REJECT_UNAUTHORIZED=0: certificates are not verified; anyone on the way can read the token';

/** The token of a client that sends none. */
export const ANONYMOUS = fixedToken('');

/** A notice as stderr shows it: a JSON object, a plain line, or on a terminal a line with its mark in colour. */
async function showNotice(line: string, { isJson, stderr }: Io): Promise<string> {
  const { mark, text } = splitMark(line);
  // The mark for success is for terminals only.
  const plain = mark === 'done' ? text : line;
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
