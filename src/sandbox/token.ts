// Signs, checks and reads access tokens (interface.md section 5).
import { randomBytes } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { Faults } from './faults.js';
import type { ServedFleet } from './fleet.js';
import { refuseToken } from './problem.js';

/** Section 2.2: "Examples: fleet_operator, renter, admin". */
export const ROLES = ['admin', 'fleet_operator', 'renter'] as const;

export type Role = (typeof ROLES)[number];

/** The roles that a token has in each organization when no role was requested. */
const USUAL_AFFILIATIONS: readonly string[] = ['admin', 'fleet_operator'];

/** The user of a request, from the token. */
export interface Viewer {
  role: Role;
  /** The uuid of the user. */
  subject: string;
  /**
   * Assumed: a user with this claim sees only this organization, and a user without it sees all
   * organizations.
   */
  organization: string | undefined;
  /** Observed: the roles in each organization; empty when the token does not contain them. */
  affiliations: { [organization: string]: readonly string[] };
  /** When the token was issued, in milliseconds since the epoch. */
  issuedAt: number;
  /**
   * When the token expires according to its `exp` claim, in milliseconds since the epoch. The
   * `expire` fault can make the token expire earlier. Use `endOf` to get the actual time.
   */
  expiresAt: number;
}

export interface TokenOptions {
  role?: Role;
  /** The roles in the `affs` claim for each organization. Default: the token's role. */
  affiliations?: readonly string[];
  /** Default: 12 hours. */
  expiresInSeconds?: number;
  /** The uuid of a user. Default: a fixed user for each role. */
  subject?: string;
  /** The uuid of an organization. Undefined means all organizations. */
  organization?: string;
}

/**
 * The lifetime is longer than a working day. A token therefore does not expire during a test
 * session.
 */
const LIFETIME_SECONDS = 12 * 3600;

/** Checked tokens are cached, because a benchmark uses the same token thousands of times. */
const REMEMBERED_TOKENS = 1000;

/**
 * Creates a signer and checker with its own key. The interface says: "How a token is obtained, its
 * lifetime and its claims: not shown". Assumed: a token is a JWT (HS256) with sub, role, iat, exp,
 * jti and optionally organization and affs.
 */
export function createTokens(fleet: ServedFleet, faults: Faults) {
  const key = new Uint8Array(randomBytes(32));
  const remembered = new Map<string, Viewer>();
  let issued = 0;

  async function sign({ role: asked, organization, ...token }: TokenOptions = {}): Promise<string> {
    const role = asked ?? 'fleet_operator';
    const roles = token.affiliations ?? (asked === undefined ? USUAL_AFFILIATIONS : [asked]);
    const limitMs = faults.durationMs('expire') ?? Number.POSITIVE_INFINITY;
    const lifetimeMs = Math.min((token.expiresInSeconds ?? LIFETIME_SECONDS) * 1000, limitMs);
    const now = fleet.now();
    const { organizations, users, isObserved } = fleet;
    const own = organizations.filter(
      ({ uuid }) => organization === undefined || uuid === organization,
    );
    const affs = Object.fromEntries(own.map(({ uuid }) => [uuid, roles]));
    issued += 1;
    return new SignJWT({ role, organization, affs: isObserved ? affs : undefined })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setSubject(token.subject ?? users[ROLES.indexOf(role)] ?? '')
      .setJti(String(issued))
      .setIssuedAt(Math.floor(now / 1000))
      .setExpirationTime(Math.ceil((now + lifetimeMs) / 1000))
      .sign(key);
  }

  async function read(token: string): Promise<Viewer> {
    const known = remembered.get(token);
    if (known !== undefined) return known;
    try {
      const { payload } = await jwtVerify<Claims>(token, key, {
        algorithms: ['HS256'],
        requiredClaims: ['sub', 'exp', 'iat'],
        currentDate: new Date(fleet.now()),
      });
      const claims = viewerOf(payload);
      if (remembered.size >= REMEMBERED_TOKENS) remembered.clear();
      remembered.set(token, claims);
      return claims;
    } catch (thrown) {
      if (thrown instanceof errors.JWTExpired) throw refuseExpired();
      if (thrown instanceof errors.JOSEError)
        throw refuseToken('Invalid token.', 'authentication_failed');
      throw thrown;
    }
  }

  /**
   * Checks an Authorization header. Throws a 401 Problem when it is missing, malformed, expired or
   * from another signer.
   */
  async function check(authorization: string | undefined): Promise<Viewer> {
    if (authorization === undefined) {
      throw refuseToken('Authentication credentials were not provided.', 'not_authenticated');
    }
    // Section 5: "the scheme word JWT followed by a space and the token".
    const token = /^JWT (\S+)$/.exec(authorization)?.[1];
    if (token === undefined) {
      throw refuseToken(
        'The Authorization header must be "JWT <ACCESS_TOKEN>".',
        'authentication_failed',
      );
    }
    const viewer = await read(token);
    if (fleet.now() >= endOf(viewer)) throw refuseExpired();
    return viewer;
  }

  /**
   * Returns when the viewer's token expires, in milliseconds since the epoch. An `expire` fault can
   * make this time earlier.
   */
  function endOf(viewer: Viewer): number {
    const limitMs = faults.durationMs('expire');
    // `iat` is in whole seconds and is rounded down. One second is added, so that a token does not
    // expire too early.
    return limitMs === undefined
      ? viewer.expiresAt
      : Math.min(viewer.expiresAt, viewer.issuedAt + 1000 + limitMs);
  }

  return { sign, check, endOf };
}

/** The claims that the sandbox adds to the standard ones. */
type Claims = JWTPayload &
  Pick<Viewer, 'role' | 'organization'> & { affs?: Viewer['affiliations'] };

/** Returns the viewer of a token that the sandbox signed. */
function viewerOf({ sub = '', iat = 0, exp = 0, role, organization, affs = {} }: Claims): Viewer {
  return {
    role,
    subject: sub,
    organization,
    affiliations: affs,
    issuedAt: iat * 1000,
    expiresAt: exp * 1000,
  };
}

export type TokenService = ReturnType<typeof createTokens>;

function refuseExpired(): Error {
  return refuseToken('Signature has expired.', 'token_expired');
}
