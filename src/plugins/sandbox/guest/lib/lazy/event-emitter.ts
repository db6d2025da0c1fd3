type Listener = (...args: readonly unknown[]) => unknown;

interface Entry {
  readonly listener: Listener;
  readonly once: boolean;
}

/** The part of Node's EventEmitter that clients in plugins use. */
export class EventEmitter {
  static readonly EventEmitter = EventEmitter;
  static readonly default = EventEmitter;
  readonly #entries = new Map<unknown, readonly Entry[]>();

  on(name: unknown, listener: Listener): this {
    return this.#add(name, { listener, once: false });
  }

  once(name: unknown, listener: Listener): this {
    return this.#add(name, { listener, once: true });
  }

  addListener(name: unknown, listener: Listener): this {
    return this.on(name, listener);
  }

  off(name: unknown, listener: Listener): this {
    const entries = this.#of(name);
    const at = entries.findLastIndex((entry) => entry.listener === listener);
    if (at >= 0) this.#entries.set(name, entries.toSpliced(at, 1));
    return this;
  }

  removeListener(name: unknown, listener: Listener): this {
    return this.off(name, listener);
  }

  removeAllListeners(name?: unknown): this {
    if (name === undefined) this.#entries.clear();
    else this.#entries.delete(name);
    return this;
  }

  listeners(name: unknown): Listener[] {
    return this.#of(name).map((entry) => entry.listener);
  }

  listenerCount(name: unknown): number {
    return this.#of(name).length;
  }

  setMaxListeners(): this {
    return this;
  }

  /** An `error` without a listener is thrown. */
  emit(name: unknown, ...args: readonly unknown[]): boolean {
    const entries = this.#of(name);
    if (entries.length === 0 && name === 'error') throw errorOf(args[0]);
    for (const { listener, once } of entries) {
      if (once) this.off(name, listener);
      Reflect.apply(listener, this, args);
    }
    return entries.length > 0;
  }

  #of(name: unknown): readonly Entry[] {
    return this.#entries.get(name) ?? [];
  }

  #add(name: unknown, entry: Entry): this {
    this.#entries.set(name, [...this.#of(name), entry]);
    return this;
  }
}

function errorOf(given: unknown): Error {
  return given instanceof Error ? given : new Error(`Unhandled error. (${String(given)})`);
}

export default EventEmitter;
