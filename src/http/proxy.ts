// Chooses the proxy for an address from the environment.

import { BlockList, isIP } from 'node:net';
import { configError } from '../errors.js';
import { isLoopback } from './loopback.js';

/** The route to an address: direct or through a proxy. */
export interface Route {
  /** The proxy's address with its password; undefined for the direct way. For people `proxy.origin`. */
  proxy: URL | undefined;
  /** Why, for people: the variable that names the proxy, or that excludes the address from it. */
  because: string;
}

/** The value of a variable, in lower case first, as curl has it. */
function readVariable(env: NodeJS.ProcessEnv, name: string): [variable: string, value: string] {
  const lower = name.toLowerCase();
  return env[lower] === undefined ? [name, env[name] ?? ''] : [lower, env[lower] ?? ''];
}

/**
 * The address of a proxy; without a scheme it is http, as curl reads it. It may hold a password, so no error shows it. Throws a
 * FleetError of kind `config`.
 */
function readProxy(variable: string, text: string): URL {
  const address = text.includes('://') ? text : `http://${text}`;
  try {
    const url = new URL(address);
    decodeURIComponent(url.username + url.password);
    if (/^https?:$/.test(url.protocol)) return url;
  } catch {
    // The error would quote a password.
  }
  const hint =
    'write it like http://proxy.example.com:3128, with %25 for a % in user or password, or unset it';
  throw configError(`${variable} is not the address of an http or https proxy`, hint);
}

/** `Proxy-Authorization` for the user and password in the proxy's address; undefined when it names none. */
export function proxyToken({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(login).toString('base64')}`;
}

/**
 * Makes the decision of which proxy of the environment is asked. An address in HTTP_PROXY is used for https too where HTTPS_PROXY names
 * none. `routeTo` throws a FleetError of kind `config` for an address that would be asked through a proxy that is none.
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
    // As curl and Go do it, this machine is never reached through a proxy: the sandbox would be out of reach.
    if (isLoopback(url))
      return { proxy: undefined, because: `${variable} is not used for this machine` };
    if (entries.some((entry) => isExcluded(url, entry)))
      return { proxy: undefined, because: `${noVariable} excludes it` };
    return { proxy: readProxy(variable, value), because: variable };
  };
  return { hasProxy: (http ?? https) !== undefined, routeTo };
}

/**
 * Whether an entry of NO_PROXY names the address: `*`, a host and its subdomains, an IP address, or a
 * range of addresses in CIDR notation. A host and an address may have a port; an IPv6 address with a port
 * needs brackets.
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
  // Without brackets the last group of an IPv6 address would be taken for a port.
  if (rangeOf(entry) !== undefined) return { name: entry };
  const [, name = '', port] = /^(.+?)(?::(\d+))?$/.exec(entry) ?? [];
  return { name, port };
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

/** An IP address or a range of them: `10.0.0.0/8`, `fd00::/8`, `[::1]`; undefined for other text. */
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
