// Chooses the proxy for an address from the environment.

import { BlockList, isIP } from 'node:net';
import { configError } from '../errors.js';
import { isLoopback } from './loopback.js';

/** The route to an address: either direct or through a proxy. */
export interface Route {
  /**
   * The proxy's URL including its password, or undefined for a direct connection. Messages must
   * show only `proxy.origin`.
   */
  proxy: URL | undefined;
  /**
   * The reason for this route, for messages: the variable that names the proxy or excludes the
   * address.
   */
  because: string;
}

/** Returns the value of an environment variable. The lower-case name has priority, as in curl. */
function readVariable(env: NodeJS.ProcessEnv, name: string): [variable: string, value: string] {
  const lower = name.toLowerCase();
  return env[lower] === undefined ? [name, env[name] ?? ''] : [lower, env[lower] ?? ''];
}

/**
 * Parses a proxy URL. The default scheme is http, as in curl. Throws a FleetError of kind `config`
 * that does not quote the URL, because it may contain a password.
 */
function readProxy(variable: string, text: string): URL {
  const address = text.includes('://') ? text : `http://${text}`;
  try {
    const url = new URL(address);
    decodeURIComponent(url.username + url.password);
    if (/^https?:$/.test(url.protocol)) return url;
  } catch {
    // The original error is dropped, because it quotes the password.
  }
  const hint =
    'use an address such as http://proxy.example.com:3128, write % in the user name or password as %25, or unset the variable';
  throw configError(`${variable} is not the address of an http or https proxy`, hint);
}

/**
 * Returns the `Proxy-Authorization` header for the user and password in the proxy's URL, or
 * undefined when it has none.
 */
export function proxyToken({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(login).toString('base64')}`;
}

/**
 * Returns the secret parts of a proxy's URL. They must be hidden, because the proxy may repeat them
 * in its responses. A user name without a password is treated as a secret, because it is an access
 * key.
 */
export function secretsOfProxy(proxy: URL): string[] {
  const token = proxyToken(proxy);
  if (token === undefined) return [];
  const encoded = token.slice(token.indexOf(' ') + 1);
  return [decodeURIComponent(proxy.password || proxy.username), encoded];
}

/**
 * Reads the proxy settings from the environment. HTTP_PROXY also applies to https when HTTPS_PROXY
 * is not set. `routeTo` throws a FleetError of kind `config` when the proxy for an address is
 * invalid.
 */
export function openRoutes(env: NodeJS.ProcessEnv): {
  hasProxy: boolean;
  routeTo(url: URL): Route;
} {
  const [http, https] = (['HTTP_PROXY', 'HTTPS_PROXY'] as const).map((name) => {
    const [variable, value] = readVariable(env, name);
    return value === '' ? undefined : { variable, value };
  });
  const [noVariable, excluded] = readVariable(env, 'NO_PROXY');
  const entries = excluded.split(/[,\s]+/).filter((entry) => entry !== '');
  const routeTo = (url: URL): Route => {
    const found = url.protocol === 'https:' ? (https ?? http) : http;
    if (found === undefined) return { proxy: undefined, because: 'no proxy is set' };
    const { variable, value } = found;
    // Like curl and Go, fleet never uses a proxy for the local machine. The sandbox runs there.
    if (isLoopback(url))
      return { proxy: undefined, because: `${variable} is not used for this machine` };
    if (entries.some((entry) => isExcluded(url, entry)))
      return { proxy: undefined, because: `${noVariable} excludes it` };
    return { proxy: readProxy(variable, value), because: variable };
  };
  return { hasProxy: (http ?? https) !== undefined, routeTo };
}

/**
 * Whether an entry of NO_PROXY matches the URL. An entry is `*`, a host with its subdomains, an IP
 * address, or a range in CIDR notation. A host or IP address can have a port. An IPv6 address with
 * a port needs brackets.
 */
function isExcluded(url: URL, entry: string): boolean {
  if (entry === '*') return true;
  const { name, port } = splitPort(entry.toLowerCase());
  if (port !== undefined && port !== (url.port || (url.protocol === 'https:' ? '443' : '80')))
    return false;
  const range = rangeOf(name);
  if (range !== undefined) return isInRange(withoutBrackets(url.hostname), range);
  const host = name.replace(/^\*?\./, '');
  return url.hostname === host || url.hostname.endsWith(`.${host}`);
}

function splitPort(entry: string): { name: string; port?: string | undefined } {
  // Without brackets, the last group of an IPv6 address is not a port.
  if (rangeOf(entry) !== undefined) return { name: entry };
  const [, name = '', port] = /^(.+?)(?::(\d+))?$/.exec(entry) ?? [];
  return { name, port };
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

/**
 * Parses an IP address or a range, such as `10.0.0.0/8`, `fd00::/8` or `[::1]`. Returns undefined
 * for other text.
 */
function rangeOf(text: string): BlockList | undefined {
  const [, address = '', bits] = /^(.*?)(?:\/(\d{1,3}))?$/.exec(withoutBrackets(text)) ?? [];
  const family = familyOf(withoutBrackets(address));
  if (family === undefined) return undefined;
  const most = family === 'ipv4' ? 32 : 128;
  const prefix = bits === undefined ? most : Number(bits);
  if (prefix > most) return undefined;
  const range = new BlockList();
  range.addSubnet(withoutBrackets(address), prefix, family);
  return range;
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  if (version === 0) return undefined;
  return version === 4 ? 'ipv4' : 'ipv6';
}

function isInRange(host: string, range: BlockList): boolean {
  const family = familyOf(host);
  return family !== undefined && range.check(host, family);
}
