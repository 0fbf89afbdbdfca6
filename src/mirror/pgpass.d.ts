// The library that reads a password file has no types of its own.

declare module 'pgpass' {
  type Server = {
    readonly host: string;
    readonly port: number;
    readonly database: string;
    readonly user: string;
  };
  function pgpass(server: Server, take: (password: string | undefined) => void): void;
  export = pgpass;
}
