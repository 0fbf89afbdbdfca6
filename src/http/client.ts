// The one HTTP client of a process.
import type { HttpAnswer, HttpRequest, Page } from './types.js';

export interface Client {
  readonly baseUrl: URL;
  send(request: HttpRequest): Promise<HttpAnswer>;
  pages<T = { [field: string]: unknown }>(request: HttpRequest): AsyncGenerator<Page<T>, void, undefined>;
}
