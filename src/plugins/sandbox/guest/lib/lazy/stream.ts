import { EventEmitter } from './event-emitter.ts';

interface Target {
  write(chunk: unknown): unknown;
  end(): unknown;
}

/** PassThrough only: written (or pushed) data is passed to listeners and pipes one turn later. */
class PassThrough extends EventEmitter {
  readonly #waiting: unknown[] = [];
  readonly #targets: Target[] = [];
  #ended = false;
  #flowing = false;

  write(chunk: unknown): boolean {
    if (this.#ended) throw new Error('write after end');
    this.#waiting.push(chunk);
    this.#flow();
    return true;
  }

  push(chunk: unknown): boolean {
    if (chunk === null) this.end();
    else this.write(chunk);
    return !this.#ended;
  }

  end(chunk?: unknown): this {
    if (chunk !== undefined && chunk !== null) this.write(chunk);
    this.#ended = true;
    this.#flow();
    return this;
  }

  pipe<T extends Target>(target: T): T {
    this.#targets.push(target);
    this.#flow();
    return target;
  }

  override on(name: unknown, listener: (...args: readonly unknown[]) => unknown): this {
    super.on(name, listener);
    if (name === 'data') this.#flow();
    return this;
  }

  destroy(error?: unknown): this {
    this.#ended = true;
    this.#waiting.length = 0;
    if (error !== undefined) this.emit('error', error);
    this.emit('close');
    return this;
  }

  async *[Symbol.asyncIterator](): AsyncIterableIterator<unknown> {
    const seen: unknown[] = [];
    const ended = new Promise<void>((resolve) => {
      this.once('end', () => resolve());
    });
    this.on('data', (chunk) => seen.push(chunk));
    await ended;
    yield* seen;
  }

  #flow(): void {
    if (this.#flowing || (this.#targets.length === 0 && this.listenerCount('data') === 0)) return;
    this.#flowing = true;
    void Promise.resolve().then(() => {
      this.#flowing = false;
      this.#handOn();
    });
  }

  #handOn(): void {
    for (const chunk of this.#waiting.splice(0)) {
      this.emit('data', chunk);
      for (const target of this.#targets) target.write(chunk);
    }
    if (!this.#ended) return;
    for (const target of this.#targets.splice(0)) target.end();
    this.emit('end');
    this.emit('finish');
  }
}

export const create = (): unknown => ({ PassThrough });
