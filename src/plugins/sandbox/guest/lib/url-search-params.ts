import { decodeUtf8, encodeUtf8 } from './utf8.ts';

type Pair = [name: string, value: string];

/** As in the URL Standard. */
export class URLSearchParams {
  #pairs: Pair[];
  /** Notifies the URL that it belongs to. */
  #changed: (() => void) | undefined;

  constructor(init: unknown = '') {
    this.#pairs = pairsOf(init);
  }

  /** Creates the params of a URL from its query without the first `?`; changes are passed to the URL. */
  static ofUrl(query: string, changed: (query: string) => void): URLSearchParams {
    const params = new URLSearchParams();
    params.#pairs = parseQuery(query);
    params.#changed = () => changed(params.toString());
    return params;
  }

  /** Called when the URL's query changed. */
  static reset(params: URLSearchParams, query: string): void {
    params.#pairs = parseQuery(query);
  }

  get size(): number {
    return this.#pairs.length;
  }

  append(name: unknown, value: unknown): void {
    this.#pairs.push([wellFormed(name), wellFormed(value)]);
    this.#changed?.();
  }

  delete(name: unknown, value?: unknown): void {
    const gone = wellFormed(name);
    const only = value === undefined ? undefined : wellFormed(value);
    this.#pairs = this.#pairs.filter(([key, held]) => key !== gone || (only !== undefined && held !== only));
    this.#changed?.();
  }

  get(name: unknown): string | null {
    const wanted = wellFormed(name);
    return this.#pairs.find(([key]) => key === wanted)?.[1] ?? null;
  }

  getAll(name: unknown): string[] {
    const wanted = wellFormed(name);
    return this.#pairs.filter(([key]) => key === wanted).map(([, value]) => value);
  }

  has(name: unknown, value?: unknown): boolean {
    const wanted = wellFormed(name);
    const only = value === undefined ? undefined : wellFormed(value);
    return this.#pairs.some(([key, held]) => key === wanted && (only === undefined || held === only));
  }

  set(name: unknown, value: unknown): void {
    const key = wellFormed(name);
    const text = wellFormed(value);
    const first = this.#pairs.find(([held]) => held === key);
    if (first === undefined) this.#pairs.push([key, text]);
    else {
      first[1] = text;
      this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== key);
    }
    this.#changed?.();
  }

  sort(): void {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed?.();
  }

  forEach(visit: (value: string, name: string, params: URLSearchParams) => void, self?: unknown): void {
    for (const [name, value] of this) visit.call(self, value, name, this);
  }

  /** Also visits pairs added during the iteration. */
  *entries(): IterableIterator<[string, string]> {
    for (let at = 0; at < this.#pairs.length; at++) {
      const [name, value] = this.#pairs[at] ?? ['', ''];
      yield [name, value];
    }
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }

  toString(): string {
    return this.#pairs.map(([name, value]) => `${encodePart(name)}=${encodePart(value)}`).join('&');
  }

  get [Symbol.toStringTag](): string {
    return 'URLSearchParams';
  }
}

function wellFormed(value: unknown): string {
  return String(value).toWellFormed();
}

function pairsOf(init: unknown): Pair[] {
  if (init === undefined || init === null) return [];
  if (typeof init !== 'object' && typeof init !== 'function') return parseQuery(String(init).replace(/^\?/, ''));
  if (isIterable(init)) return Array.from(init, pairOf);
  return Object.entries(init).map(([name, value]) => [wellFormed(name), wellFormed(value)]);
}

function isIterable(value: object): value is Iterable<unknown> {
  return typeof Reflect.get(value, Symbol.iterator) === 'function';
}

function pairOf(item: unknown): Pair {
  const parts: unknown[] = typeof item === 'object' && item !== null && isIterable(item) ? [...item] : [];
  if (parts.length !== 2) throw new TypeError('Each query pair must be an iterable [name, value] tuple');
  return [wellFormed(parts[0]), wellFormed(parts[1])];
}

function parseQuery(query: string): Pair[] {
  return query
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const equals = part.indexOf('=');
      if (equals < 0) return [decodePart(part), ''];
      return [decodePart(part.slice(0, equals)), decodePart(part.slice(equals + 1))];
    });
}

function decodePart(part: string): string {
  const text = part.includes('+') ? part.replaceAll('+', ' ') : part;
  return text.includes('%') ? decodePercent(text) : text.toWellFormed();
}

/** A `%` that begins no byte is kept. */
function decodePercent(text: string): string {
  const bytes = encodeUtf8(text);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    const high = hexValue(bytes[at + 1]);
    const low = hexValue(bytes[at + 2]);
    if (byte === 0x25 && high >= 0 && low >= 0) {
      bytes[length++] = 16 * high + low;
      at += 2;
    } else bytes[length++] = byte;
  }
  return decodeUtf8(bytes.subarray(0, length));
}

function hexValue(code: number | undefined): number {
  if (code === undefined) return -1;
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** Keeps letters, digits and `*-._`; a blank becomes `+`, everything else is percent-encoded. */
function encodePart(text: string): string {
  if (/^[A-Za-z0-9*\-._]*$/.test(text)) return text;
  return encodeURIComponent(text)
    .replaceAll('%20', '+')
    .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}
