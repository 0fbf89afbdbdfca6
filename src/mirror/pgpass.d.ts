// Types of the library that reads a PostgreSQL password file.

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
