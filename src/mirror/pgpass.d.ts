// The library that reads a password file has no types of its own.

declare module 'pgpass' {
  type Place = { readonly host: string; readonly port: number; readonly database: string; readonly user: string };
  function pgpass(place: Place, take: (password: string | undefined) => void): void;
  export = pgpass;
}
