// Access tokens: signing, checking, and what is read from them (interface.md section 5).
import { randomBytes } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { Faults } from './faults.js';
import type { ServedFleet } from './fleet.js';
import { refuseToken } from './problem.js';

/** Section 2.2: "Examples: fleet_operator, renter, admin". */
export const ROLES = ['admin', 'fleet_operator', 'renter'] as const;

export type Role = (typeof ROLES)[number];

/** What a token that nobody asked a role of is in each organization. */
const USUAL_AFFILIATIONS: readonly string[] = ['admin', 'fleet_operator'];

/** Who asks, as the token says. */
export interface Viewer {
  role: Role;
  /** The uuid of the user. */
  subject: string;
  /** Assumed: a token with this claim sees this organization only, one without it sees all of them. */
  organization: string | undefined;
  /** Observed: the roles in each organization; none when the token does not name them. */
  affiliations: { [organization: string]: readonly string[] };
  /** Milliseconds since the epoch. */
  issuedAt: number;
  /** Milliseconds since the epoch, as the token says; see `endOf`. */
  expiresAt: number;
}

export interface TokenOptions {
  role?: Role;
  /** What the claim `affs` names for each organization; the role alone when absent. */
  affiliations?: readonly string[];
  /** The default is 12 hours. */
  expiresInSeconds?: number;
  /** The uuid of a user; the default is a fixed one for each role. */
  subject?: string;
  /** The uuid of an organization; the default is none, which means all. */
  organization?: string;
}

/** A working day and a half: nobody wants to fetch a new token in the middle of trying things out. */
const LIFETIME_SECONDS = 12 * 3600;

/** Checked tokens are remembered, since a benchmark asks with the same one thousands of times. */
const REMEMBERED_TOKENS = 1000;

/**
 * Makes a signer and checker with a key of its own. Assumed: "How a token is obtained, its lifetime and its claims: not
 * shown", so it is a JWT (HS256) with sub, role, iat, exp, jti and perhaps organization and affs.
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

  /** Reads an Authorization header. Throws a 401 Problem when it is missing, malformed, not ours or expired. */
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

  /** When the viewer's token ends, in milliseconds since the epoch; an `expire` fault is counted in. */
  function endOf(viewer: Viewer): number {
    const limitMs = faults.durationMs('expire');
    // iat is cut to whole seconds, so a second is added: no token dies before its time.
    return limitMs === undefined
      ? viewer.expiresAt
      : Math.min(viewer.expiresAt, viewer.issuedAt + 1000 + limitMs);
  }

  return { sign, check, endOf };
}

/** What our own tokens say beside what every token does. */
type Claims = JWTPayload &
  Pick<Viewer, 'role' | 'organization'> & { affs?: Viewer['affiliations'] };

/** Whom one of our own tokens names. */
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
