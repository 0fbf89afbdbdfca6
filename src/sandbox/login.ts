// Answers logins and token renewals. A token is renewed with a refresh token, as on real services,
// or with the access token itself.
import { randomUUID } from 'node:crypto';
import type { AddRoute, ApiRequest, ServedApiOptions } from './exchange.js';
import { answerText, readObject } from './exchange.js';
import { Problem, type Reason, refuse, type ServedAnswer } from './problem.js';
import type { Role, Viewer } from './token.js';

/** Observed: the lifetime of a token from a login. */
const LOGIN_SECONDS = 30 * 60;

/** Observed: this many different wrong passwords in a row lock the account for five minutes. */
const WRONG_PASSWORDS = 6;
const LOCK_MS = 5 * 60_000;

interface Account {
  role: Role;
  /** Observed: `refresh_token` is null for some users. */
  hasRefreshToken: boolean;
}

/**
 * The accounts, by the part of the e-mail address before the `@`. Every password is accepted,
 * except an empty one and those that begin with "wrong".
 */
const ACCOUNTS: { [name: string]: Account } = {
  admin: { role: 'admin', hasRefreshToken: true },
  operator: { role: 'fleet_operator', hasRefreshToken: true },
  contractor: { role: 'fleet_operator', hasRefreshToken: false },
  renter: { role: 'renter', hasRefreshToken: false },
};

/** The user whose token is renewed, with the claims of the new token. */
type Owner = Pick<Viewer, 'role' | 'subject' | 'organization' | 'affiliations'>;

/**
 * The distinct wrong passwords that were tried for an account, and the time until which the account
 * is locked.
 */
interface Failures {
  passwords: Set<string>;
  lockedUntilMs: number;
}

/** Adds `/jwt/login/` and `/jwt/refresh_token/`, which do not need a token. */
export function addLoginRoutes(options: ServedApiOptions, route: AddRoute): void {
  const { fleet, tokens } = options;
  const { isObserved } = fleet;
  /** Each refresh token can be used once. The response contains the next refresh token. */
  const refreshTokens = new Map<string, Owner>();
  const failures = new Map<string, Failures>();

  async function answerTokens(owner: Owner, hasRefreshToken: boolean): Promise<ServedAnswer> {
    const token = await tokens.sign(claimsOf(owner));
    if (!isObserved) return answerText(200, JSON.stringify({ token }));
    const refreshToken = hasRefreshToken ? randomUUID() : null;
    if (refreshToken !== null) refreshTokens.set(refreshToken, owner);
    const user = { uuid: owner.subject };
    return answerText(200, JSON.stringify({ token, user, refresh_token: refreshToken }));
  }

  async function answerLogin(request: ApiRequest): Promise<ServedAnswer> {
    const { email, password } = await readObject(request);
    const name = String(email).split('@', 1)[0] ?? '';
    const account = ACCOUNTS[name];
    const failed = failures.get(name) ?? { passwords: new Set(), lockedUntilMs: 0 };
    if (fleet.now() < failed.lockedUntilMs) throw refuseLocked();
    if (typeof password === 'string' && isRight(password) && account !== undefined) {
      failures.delete(name);
      const owner = await ownerOf(account.role);
      return answerTokens(owner, account.hasRefreshToken);
    }
    failed.passwords.add(String(password));
    failures.set(name, failed);
    if (failed.passwords.size >= WRONG_PASSWORDS) {
      failures.set(name, { passwords: new Set(), lockedUntilMs: fleet.now() + LOCK_MS });
    }
    throw refuse(400, 'Unable to log in with provided credentials.', 'invalid_credentials');
  }

  async function ownerOf(role: Role): Promise<Owner> {
    return tokens.check(`JWT ${await tokens.sign({ role })}`);
  }

  async function answerRefresh(request: ApiRequest): Promise<ServedAnswer> {
    const body = await readObject(request);
    if (!isObserved) {
      const owner = await tokens.check(`JWT ${String(body['token'])}`);
      return answerTokens(owner, false);
    }
    const missing = ['client_id', 'refresh_token'].filter((field) => isBlank(body[field]));
    if (missing.length > 0) throw refuseMissing(missing);
    const refreshToken = String(body['refresh_token']);
    const owner = refreshTokens.get(refreshToken);
    if (owner === undefined) throw refuse(401, 'Invalid token.', 'invalid_token');
    refreshTokens.delete(refreshToken);
    return answerTokens(owner, true);
  }

  route('/jwt/login/', { POST: answerLogin }, true);
  route('/jwt/refresh_token/', { POST: answerRefresh }, true);
}

function isRight(password: string): boolean {
  return password !== '' && !password.startsWith('wrong');
}

function isBlank(value: unknown): boolean {
  return typeof value !== 'string' || value === '';
}

function claimsOf({ role, subject, organization, affiliations }: Owner) {
  const [roles = []] = Object.values(affiliations);
  return {
    role,
    subject,
    affiliations: roles,
    ...(organization === undefined ? {} : { organization }),
    expiresInSeconds: LOGIN_SECONDS,
  };
}

/** Observed: a locked account gets 403 for every password. */
function refuseLocked(): Problem {
  return refuse(403, 'The account is locked for 5 minutes.', 'account_locked');
}

function refuseMissing(fields: readonly string[]): Problem {
  const reason: Reason = { message: 'This field is required.', code: 'required' };
  return new Problem(400, Object.fromEntries(fields.map((field) => [field, [reason]])));
}
