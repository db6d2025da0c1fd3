const badName = /[^_`a-zA-Z\-0-9!#$%&'*+.|~^]/;
// oxlint-disable-next-line no-control-regex -- these are what a header value must not hold
const badValue = /[^\t\x20-\x7e\x80-\xff]/;

/** As in node-fetch 2: case-insensitive names, several values per name, sorted by name. */
export class Headers {
  readonly #values = new Map<string, string[]>();

  constructor(init?: unknown) {
    if (init === undefined || init === null) return;
    if (typeof init !== 'object') throw new TypeError('Provided initializer must be an object');
    for (const [name, value] of pairsOf(init)) this.append(name, value);
  }

  get(name: unknown): string | null {
    return this.#values.get(nameOf(name))?.join(', ') ?? null;
  }

  has(name: unknown): boolean {
    return this.#values.has(nameOf(name));
  }

  set(name: unknown, value: unknown): void {
    this.#values.set(nameOf(name), [valueOf(value)]);
  }

  append(name: unknown, value: unknown): void {
    const key = nameOf(name);
    this.#values.set(key, [...(this.#values.get(key) ?? []), valueOf(value)]);
  }

  delete(name: unknown): void {
    this.#values.delete(nameOf(name));
  }

  raw(): Record<string, string[]> {
    return Object.fromEntries([...this.#values].map(([name, values]) => [name, [...values]]));
  }

  forEach(visit: (value: string, name: string, headers: Headers) => void, self?: unknown): void {
    for (const [name, value] of this) visit.call(self, value, name, this);
  }

  *entries(): IterableIterator<[string, string]> {
    for (const name of [...this.#values.keys()].sort()) yield [name, this.get(name) ?? ''];
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

  get [Symbol.toStringTag](): string {
    return 'Headers';
  }
}

function nameOf(name: unknown): string {
  const text = String(name);
  if (text === '' || badName.test(text)) throw new TypeError(`${text} is not a legal HTTP header name`);
  return text.toLowerCase();
}

function valueOf(value: unknown): string {
  const text = String(value).trim();
  if (badValue.test(text)) throw new TypeError(`${JSON.stringify(text)} is not a legal HTTP header value`);
  return text;
}

function pairsOf(init: object): (readonly [unknown, unknown])[] {
  if (init instanceof Headers) {
    return Object.entries(init.raw()).flatMap(([name, values]) => values.map((value) => [name, value] as const));
  }
  if (typeof Reflect.get(init, Symbol.iterator) !== 'function') return Object.entries(init);
  return Array.from(init as Iterable<unknown>, (pair) => {
    const [name, value, ...more]: unknown[] = Array.isArray(pair) ? pair : [];
    if (value === undefined || more.length > 0) throw new TypeError('Each header pair must be a name/value tuple');
    return [name, value] as const;
  });
}
