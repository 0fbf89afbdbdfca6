// The notice that comes at most once a day: a stored token about to end, settings that others can read.

import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { age } from '../terminal/time.js';
import { profileFlag, type Settings } from './resolve.js';
import {
  findLooseFiles,
  loadTokens,
  looseWarning,
  OWNER_ONLY_FOLDER_MODE,
  OWNER_ONLY_MODE,
  type Stored,
} from './store.js';
import { findTokenPlace, readExpiry, readIssued } from './token.js';

export interface DailyFacts {
  env: NodeJS.ProcessEnv;
  stored: Stored;
  settings: Pick<Settings, 'profile' | 'tokenCommand'>;
  /** Milliseconds since the epoch. */
  now: number;
}

/** The part of a token's life in which its end is announced. */
const LAST_PART = 0.1;

/** Whether notices make sense at all: a person reads them. */
export function wantsDailyNotice(env: NodeJS.ProcessEnv, isTerminal: boolean, isQuiet: boolean): boolean {
  const ci = (env['CI'] ?? '').toLowerCase();
  return isTerminal && !isQuiet && (ci === '' || ci === 'false' || ci === '0');
}

/**
 * What should be said today and was not said yet, a line each. The day is remembered in `cache/noticed` beside the settings; where
 * that cannot be written, nothing is said, or it would be said all day.
 */
export async function findDailyNotice(facts: DailyFacts): Promise<string[]> {
  const { stored, now } = facts;
  const path = join(stored.folder, 'cache', 'noticed');
  const today = new Date(now).toISOString().slice(0, 10);
  if ((await readFile(path, 'utf8').catch(() => '')).trim() === today) return [];
  const lines = [...(await findLooseFiles(stored)).map(looseWarning), ...(await findTokensEnd(facts))];
  if (lines.length === 0) return [];
  await mkdir(dirname(path), { recursive: true, mode: OWNER_ONLY_FOLDER_MODE });
  await writeFile(path, `${today}\n`, { mode: OWNER_ONLY_MODE });
  return lines;
}

/** The announcement of the stored token's end, when the token in use is stored and in the last part of its life. */
async function findTokensEnd({ env, stored, settings, now }: DailyFacts): Promise<string[]> {
  const profile = settings.profile.value;
  const place = await findTokenPlace(env, stored, profile, settings.tokenCommand.value);
  const token = place?.kind === 'stored' ? (await loadTokens(stored)).get(profile) : undefined;
  const expiry = token === undefined ? undefined : readExpiry(token);
  if (token === undefined || expiry === undefined || expiry <= now) return [];
  // A token that does not say when it was made was made before it was stored.
  const begin = readIssued(token) ?? (await stat(stored.credentialsPath)).mtimeMs;
  if (expiry - now > (expiry - begin) * LAST_PART) return [];
  const when = age(new Date(expiry).toISOString(), now);
  return [`the stored token ends ${when}; run "fleet auth login${profileFlag(profile)}" for a new one`];
}
