// Checks Node, the terminal, the disk and certificates.

import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { connect } from 'node:tls';
import type { Context } from '../../context.js';
import { reasonOf } from '../../errors.js';
import { BUN_VERSION, programVersion } from '../../place.js';
import { quoteForShell, unsetVariable } from '../../shell-words.js';
import { type Finding, failure, ok, warning } from './finding.js';

export function checkBuild(): Finding {
  const build =
    BUN_VERSION === undefined ? `npm package, Node ${process.versions.node}` : `one executable, Bun ${BUN_VERSION}`;
  return ok('fleet', `version ${programVersion()}, ${build}, ${process.platform} ${process.arch}`);
}

export function checkTerminal({ io }: Context): Finding {
  const { stdout, env } = io;
  if (!stdout.isTerminal) return ok('terminal', 'stdout is not a terminal: output is not cut and has no colour');
  const colours = ['no colour', '16 colours', '256 colours', 'true colour'][stdout.colorLevel] ?? 'no colour';
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  const size = `${stdout.width()} columns, ${stdout.height()} rows, ${colours}`;
  if (process.platform === 'win32' || /utf-?8/i.test(locale)) return ok('terminal', `${size}, Unicode`);
  return warning(
    'terminal',
    `${size}; the locale ${locale === '' ? 'is not set' : `"${locale}" is not UTF-8`}, so names may look broken`,
    'export LC_ALL=C.UTF-8',
  );
}

/** Whether the folder of the settings can be written. Looks by writing there: a full disk looks well until then. Nothing is left behind. */
export async function checkDisk(folder: string): Promise<Finding[]> {
  if (folder === '') return [];
  let existing = folder;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  const path = join(existing, `.fleet-doctor-${process.pid}.tmp`);
  try {
    await writeFile(path, Buffer.alloc(TRIAL_BYTES), { flag: 'wx', mode: 0o600, flush: true });
    return [ok('disk', `${folder} can be written`)];
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const problem = `${folder} cannot be written: ${reasonOf(error)}`;
    // A read-only folder may be intended: settings can come from the environment.
    if (/^(EACCES|EPERM|EROFS)$/.test(code))
      return [warning('disk', problem, 'choose another folder with FLEET_CONFIG_DIR')];
    const isFull = code === 'ENOSPC' || code === 'EDQUOT';
    const next = isFull
      ? `free some space: ${process.platform === 'win32' ? 'Get-PSDrive' : `df -h ${quoteForShell(existing)}`}`
      : `look at ${existing}`;
    return [failure('disk', 'config', problem, next)];
  } finally {
    await rm(path, { force: true }).catch(() => {});
  }
}

/** A block: less may still fit where the disk is full. */
const TRIAL_BYTES = 4096;

/** Certificates that expire sooner are a warning. */
const CERTIFICATE_DAYS = 14;
const DAY_MS = 86_400_000;

/** The certificate of an https address that is asked directly, and whether anybody verifies it; nothing where a request says it better. */
export async function checkCertificate(
  { io, clock, signal }: Context,
  check: string,
  url: URL,
  timeoutMs: number,
): Promise<Finding[]> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const socket = connect({
    host,
    port: Number(url.port || 443),
    rejectUnauthorized: false,
    ...(isIP(host) > 0 ? {} : { servername: host }),
  });
  const destroy = () => void socket.destroy();
  const cancel = clock.after(timeoutMs, destroy);
  signal.addEventListener('abort', destroy, { once: true });
  try {
    await new Promise((resolve) => {
      socket.on('error', () => {});
      socket.once('secureConnect', resolve).once('close', resolve);
    });
    signal.throwIfAborted();
    const { valid_to: end = '', issuer } = socket.getPeerCertificate() ?? {};
    const reason = socket.authorized ? '' : String(socket.authorizationError ?? '');
    if (io.env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
      const verdict = reason === '' ? 'this one would pass' : `this one would be refused (${reason})`;
      const finding = warning(
        check,
        `NODE_TLS_REJECT_UNAUTHORIZED=0: certificates are not verified, and anyone on the network path can read the token; ${verdict}`,
        `${unsetVariable('NODE_TLS_REJECT_UNAUTHORIZED')}; a private certificate authority goes into NODE_EXTRA_CA_CERTS`,
      );
      return [finding];
    }
    // A certificate that is refused ends the request with an error of its own.
    if (reason !== '' || end === '') return [];
    const days = Math.floor((Date.parse(end) - clock.wallMs()) / DAY_MS);
    const by = [issuer?.O ?? issuer?.CN].flat()[0] ?? 'an unnamed authority';
    const finding = `${socket.getProtocol()}, certificate of ${by} for ${days} more days`;
    return [
      days >= CERTIFICATE_DAYS ? ok(check, finding) : warning(check, finding, 'report it to those who run the service'),
    ];
  } finally {
    cancel();
    signal.removeEventListener('abort', destroy);
    destroy();
  }
}
