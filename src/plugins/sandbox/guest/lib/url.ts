import type { Bridge } from './bridge.ts';
import { URLSearchParams } from './url-search-params.ts';
import { urlParts, type UrlPart } from '../../wire/url-parts.ts';

type Parts = readonly string[];

const searchAt = urlParts.indexOf('search');

/** Node's parser, used everywhere. Null for an invalid URL. */
interface UrlParser {
  parse(input: string, base: string | null): Parts | null;
  set(href: string, part: UrlPart, value: string): Parts | null;
}

function invalidUrl(input: string): TypeError {
  return Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL', input });
}

class ParsedUrl {
  readonly #parser: UrlParser;
  #parts: Parts;
  #searchParams: URLSearchParams | undefined;

  constructor(parser: UrlParser, input: unknown, base: unknown) {
    const text = String(input);
    const parts = parser.parse(text, base === undefined ? null : String(base));
    if (parts === null) throw invalidUrl(text);
    this.#parser = parser;
    this.#parts = parts;
  }

  static read(url: ParsedUrl, at: number): string {
    return url.#parts[at] ?? '';
  }

  /** As in browsers: an invalid part changes nothing; only an invalid href throws. */
  static write(url: ParsedUrl, part: UrlPart, value: string): void {
    const parts = url.#parser.set(ParsedUrl.read(url, 0), part, value);
    if (parts === null) throw invalidUrl(value);
    url.#parts = parts;
    if (url.#searchParams === undefined || (part !== 'href' && part !== 'search')) return;
    URLSearchParams.reset(url.#searchParams, ParsedUrl.read(url, searchAt).slice(1));
  }

  get searchParams(): URLSearchParams {
    this.#searchParams ??= URLSearchParams.ofUrl(ParsedUrl.read(this, searchAt).slice(1), (query) => {
      this.#parts = this.#parser.set(ParsedUrl.read(this, 0), 'search', query) ?? this.#parts;
    });
    return this.#searchParams;
  }

  toString(): string {
    return ParsedUrl.read(this, 0);
  }

  toJSON(): string {
    return ParsedUrl.read(this, 0);
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

const { read, write } = ParsedUrl;
for (const [at, part] of urlParts.entries()) {
  Object.defineProperty(ParsedUrl.prototype, part, {
    get(this: ParsedUrl): string {
      return read(this, at);
    },
    ...(part !== 'origin' && {
      set(this: ParsedUrl, value: unknown): void {
        write(this, part, String(value));
      },
    }),
    enumerable: true,
    configurable: true,
  });
}

export type GuestUrlConstructor = ReturnType<typeof createUrlClass>;

/** Creates the class URL over the parser outside. */
export function createUrlClass(bridge: Bridge) {
  const parser: UrlParser = {
    parse: (input, base) => bridge.callSync('url.parse', [input, base]) as Parts | null,
    set: (href, part, value) => bridge.callSync('url.set', [href, part, value]) as Parts | null,
  };
  return class URL extends ParsedUrl {
    constructor(input: unknown, base?: unknown) {
      super(parser, input, base);
    }

    static canParse(input: unknown, base?: unknown): boolean {
      return parser.parse(String(input), base === undefined ? null : String(base)) !== null;
    }

    static parse(input: unknown, base?: unknown): URL | null {
      return URL.canParse(input, base) ? new URL(input, base) : null;
    }
  };
}
