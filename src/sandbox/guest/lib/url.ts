import type { Bridge } from './bridge.ts';
import { URLSearchParams } from './url-search-params.ts';

/** In this order from the op: one parser, that of Node, for everything. */
const parts = words`href origin protocol username password host hostname port pathname search hash`;
type Part =
  | 'href'
  | 'protocol'
  | 'username'
  | 'password'
  | 'host'
  | 'hostname'
  | 'port'
  | 'pathname'
  | 'search'
  | 'hash';

function words(text: TemplateStringsArray): string[] {
  return text.join('').split(' ');
}

function invalidUrl(input: string): TypeError {
  return Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL', input });
}

export type GuestUrlConstructor = ReturnType<typeof createUrlClass>;

/** The class URL, over the parser outside. */
export function createUrlClass(bridge: Bridge) {
  const parse = (input: string, base: string | null): Map<string, string> | null => {
    const found = bridge.callSync('url.parse', [input, base]);
    return Array.isArray(found) ? new Map(parts.map((name, at) => [name, String(found[at])])) : null;
  };
  const baseOf = (base: unknown): string | null => (base === undefined ? null : String(base));

  class URL {
    #parts: Map<string, string>;
    #searchParams: URLSearchParams | undefined;

    constructor(input: unknown, base?: unknown) {
      const found = parse(String(input), baseOf(base));
      if (found === null) throw invalidUrl(String(input));
      this.#parts = found;
    }

    static canParse(input: unknown, base?: unknown): boolean {
      return parse(String(input), baseOf(base)) !== null;
    }

    static parse(input: unknown, base?: unknown): URL | null {
      return URL.canParse(input, base) ? new URL(input, base) : null;
    }

    static read(url: URL, part: string): string {
      return url.#parts.get(part) ?? '';
    }

    /** As in browsers: what cannot be set changes nothing; only an href that is none throws. */
    static write(url: URL, part: Part, value: unknown): void {
      const found = bridge.callSync('url.set', [url.href, part, String(value)]);
      if (!Array.isArray(found)) throw invalidUrl(String(value));
      url.#parts = new Map(parts.map((name, at) => [name, String(found[at])]));
      if (url.#searchParams !== undefined && (part === 'href' || part === 'search')) {
        URLSearchParams.reset(url.#searchParams, url.search.slice(1));
      }
    }

    get searchParams(): URLSearchParams {
      this.#searchParams ??= URLSearchParams.ofUrl(this.search.slice(1), (query) => {
        const found = bridge.callSync('url.set', [this.href, 'search', query]);
        if (Array.isArray(found)) this.#parts = new Map(parts.map((name, at) => [name, String(found[at])]));
      });
      return this.#searchParams;
    }

    toString(): string {
      return this.href;
    }

    toJSON(): string {
      return this.href;
    }

    get [Symbol.toStringTag](): string {
      return 'URL';
    }

    declare href: string;
    declare readonly origin: string;
    declare protocol: string;
    declare username: string;
    declare password: string;
    declare host: string;
    declare hostname: string;
    declare port: string;
    declare pathname: string;
    declare search: string;
    declare hash: string;
  }
  defineParts(URL);
  return URL;
}

interface UrlClass<U> {
  readonly prototype: object;
  read(url: U, part: string): string;
  write(url: U, part: Part, value: unknown): void;
}

function defineParts<U>(url: UrlClass<U>): void {
  const { read, write } = url;
  for (const part of parts) {
    Object.defineProperty(url.prototype, part, {
      get(this: U): string {
        return read(this, part);
      },
      ...(isSettable(part) && {
        set(this: U, value: unknown): void {
          write(this, part, value);
        },
      }),
      enumerable: true,
      configurable: true,
    });
  }
  // The plugin finds the class as the standard has it.
  Reflect.deleteProperty(url, 'read');
  Reflect.deleteProperty(url, 'write');
}

function isSettable(part: string): part is Part {
  return part !== 'origin';
}
