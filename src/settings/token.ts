// Where the access token comes from, and how it is renewed (interface.md section 5 leaves obtaining it open).

/** A source of access tokens. The token itself is never printed but by `auth token`. */
export interface TokenSource {
  /** For people: `FLEET_TOKEN`, `file /run/token (FLEET_TOKEN_FILE)`, `command of profile "default"`, `stored by auth login`. */
  readonly origin: string;
  /** The token to send now. Throws a FleetError of kind `config` when there is none or it cannot be had. */
  get(): Promise<string>;
  /** Called after a 401: fetches anew. Undefined when the source has no other token than the refused one. */
  renew(refused: string): Promise<string | undefined>;
}
