// What the doctor finds around the program: Node, the terminal, the proxies of the environment.

import type { Context } from '../../context.js';
import { isLoopback } from '../../http/network.js';
import { type Finding, ok, warning } from './finding.js';

export function checkNode(version: string): Finding {
  return ok('fleet', `version ${version}, Node ${process.versions.node}, ${process.platform} ${process.arch}`);
}

export function checkTerminal({ io }: Context): Finding {
  const { stdout, env } = io;
  if (!stdout.isTerminal) return ok('terminal', 'stdout is no terminal: output is not cut and has no colour');
  const colours = ['no colour', '16 colours', '256 colours', 'true colour'][stdout.colorLevel] ?? 'no colour';
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  const facts = `${stdout.width()} columns, ${stdout.height()} rows, ${colours}`;
  if (process.platform === 'win32' || /utf-?8/i.test(locale)) return ok('terminal', `${facts}, Unicode`);
  return warning(
    'terminal',
    `${facts}; the locale ${locale === '' ? 'is not set' : `"${locale}" is not UTF-8`}, so names may look broken`,
    'export LC_ALL=C.UTF-8',
  );
}

/** The proxy on the way to an address. */
export interface Way {
  /** The proxy's own address, without user name and password; undefined for the direct way. */
  proxy: URL | undefined;
  /** Why: the variable that names or excludes it. */
  because: string;
}

/** Which proxy an address is asked through, by the rules of `http/network.ts` and undici's EnvHttpProxyAgent. */
export function findWay(url: URL, env: NodeJS.ProcessEnv): Way {
  const read = (name: string): [variable: string, value: string] =>
    env[name.toLowerCase()] === undefined
      ? [name, env[name] ?? '']
      : [name.toLowerCase(), env[name.toLowerCase()] ?? ''];
  const http = read('HTTP_PROXY');
  const https = read('HTTPS_PROXY');
  const [variable, value] = url.protocol === 'https:' && https[1] !== '' ? https : http;
  if (value === '') return { proxy: undefined, because: 'no proxy is set' };
  if (isLoopback(url)) return { proxy: undefined, because: `${variable} is not used for this machine` };
  const [noVariable, excluded] = read('NO_PROXY');
  if (isExcluded(url, excluded)) return { proxy: undefined, because: `${noVariable} excludes it` };
  const proxy = URL.canParse(value) ? new URL(value) : undefined;
  if (proxy !== undefined) [proxy.username, proxy.password] = ['', ''];
  return { proxy, because: proxy === undefined ? `${variable} is no address` : variable };
}

function isExcluded(url: URL, list: string): boolean {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return list
    .split(/[,\s]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = '', entryPort] = /^(.+?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
      if (entryPort !== undefined && entryPort !== port) return false;
      const bare = name.replace(/^\*?\./, '');
      return url.hostname === bare || (name !== bare && url.hostname.endsWith(`.${bare}`));
    });
}

export function describeWay(name: string, { proxy, because }: Way): Finding {
  if (proxy !== undefined) return ok('proxy', `${name} is asked through ${proxy.origin} (${because})`);
  if (because.endsWith('is no address'))
    return warning('proxy', because, 'write it like http://proxy.example.com:3128');
  return ok('proxy', `${name} is asked directly: ${because}`);
}
