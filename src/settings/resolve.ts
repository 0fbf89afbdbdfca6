// Who am I, and where: each setting from flag, environment, profile or default, and where it came from.

/** Where a value came from, first one wins (cli.md section 1). */
export type Origin = 'flag' | 'environment' | 'profile' | 'default';

export interface Setting<T> {
  value: T;
  origin: Origin;
  /** The flag, variable or file that said so: `--base-url`, `FLEET_BASE_URL`, `profile "sandbox"`. */
  from: string;
}

/** All settings of one run. `undefined` values are not set anywhere. */
export interface Settings {
  profile: Setting<string>;
  baseUrl: Setting<URL | undefined>;
  sseUrl: Setting<URL | undefined>;
  organization: Setting<string | undefined>;
  apiVersion: Setting<string>;
  output: Setting<string>;
  timeoutMs: Setting<number>;
  retries: Setting<number>;
  tokenCommand: Setting<string | undefined>;
  allowHttp: Setting<boolean>;
}
