// Whether an address can be reached: DNS, TCP and TLS, each measured by itself.

import { lookup } from 'node:dns/promises';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { FleetError } from '../../errors.js';
import { ExchangeError } from '../../http/exchange.js';
import { networkFailure } from '../../http/failure.js';
import { type Finding, failed, ok, warning } from './finding.js';
import { limitTime } from './settings.js';

/** Certificates that end sooner are announced. */
const CERTIFICATE_DAYS = 14;
const DAY_MS = 86_400_000;

/** What a step needs. */
export interface Limits {
  timeoutMs: number;
  signal: AbortSignal;
  /** Milliseconds since the epoch. */
  now(): number;
}

/**
 * Looks the host up, connects, and shakes hands; tells each and resolves with whether all went well. No request is sent.
 * @param name what the address is: `service`, `push`, `proxy`
 */
export async function checkReach(
  name: string,
  url: URL,
  limits: Limits,
  tell: (finding: Finding) => Promise<void>,
): Promise<boolean> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  const label = (step: string) => `${name} ${step}`;
  let socket: Socket | undefined;
  let step = 'dns';
  try {
    const started = performance.now();
    const addresses = isIP(host) > 0 ? [host] : await within(limits, url, lookUp(host));
    const literal = isIP(host) > 0 ? 'is an address already' : `is ${addresses.join(', ')}, ${since(started)}`;
    await tell(ok(label('dns'), `${host} ${literal}`));
    step = 'tcp';
    const connecting = performance.now();
    const tcp = connectTcp({ host, port });
    socket = tcp;
    await within(limits, url, once(tcp, 'connect'));
    await tell(ok(label('tcp'), `connected to port ${port}, ${since(connecting)}`));
    if (url.protocol !== 'https:') return true;
    step = 'tls';
    const shaking = performance.now();
    const tls = connectTls({ socket: tcp, ...(isIP(host) > 0 ? {} : { servername: host }), host });
    await within(limits, url, once(tls, 'secureConnect'));
    await tell(judgeCertificate(label('tls'), tls, since(shaking), limits.now()));
    return true;
  } catch (thrown) {
    if (limits.signal.aborted) throw limits.signal.reason;
    const error = thrown instanceof FleetError ? thrown : networkFailure(new ExchangeError(thrown, false), url);
    await tell(failed(label(step), error));
    return false;
  } finally {
    socket?.destroy();
  }
}

async function lookUp(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function once(socket: Socket | TLSSocket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, resolve);
    socket.once('error', reject);
  });
}

async function within<T>({ timeoutMs, signal }: Limits, url: URL, step: Promise<T>): Promise<T> {
  const late = new FleetError('network', `no answer from ${url.host} within ${timeoutMs / 1000} s`, {
    hint: 'check your network and firewall, or give more time with --timeout',
  });
  const limit = limitTime(signal, timeoutMs, late);
  try {
    return await Promise.race([
      step,
      new Promise<never>((_, reject) => {
        limit.signal.addEventListener('abort', () => reject(limit.signal.reason), { once: true });
      }),
    ]);
  } finally {
    limit.end();
  }
}

function judgeCertificate(check: string, tls: TLSSocket, took: string, now: number): Finding {
  const { valid_to: end, issuer } = tls.getPeerCertificate();
  const days = Math.floor((Date.parse(end) - now) / DAY_MS);
  const by = [issuer?.O ?? issuer?.CN].flat()[0] ?? 'an unnamed authority';
  const finding = `${tls.getProtocol()}, certificate of ${by} for ${days} more days, ${took}`;
  return days >= CERTIFICATE_DAYS ? ok(check, finding) : warning(check, finding, 'tell those who run the service');
}

function since(started: number): string {
  return `${Math.round(performance.now() - started)} ms`;
}
