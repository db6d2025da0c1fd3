import type { FromChild, WireCause } from '../wire/messages.ts';
import { decodeNode, encodeNode } from '../wire/node-bridge.ts';

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** What one instance asks of the service. */
export class HostCalls {
  readonly #instance: number;
  readonly #send: (message: FromChild, body?: string) => void;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  constructor(instance: number, send: (message: FromChild, body?: string) => void) {
    this.#instance = instance;
    this.#send = send;
  }

  ask(op: string, args: readonly unknown[], cause: WireCause | null): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const call = ++this.#last;
      this.#send({ kind: 'op', instance: this.#instance, call, op, cause }, encodeNode(args));
      this.#waiting.set(call, { resolve, reject });
    });
  }

  answer(call: number, ok: boolean, text: string): void {
    const waiting = this.#waiting.get(call);
    this.#waiting.delete(call);
    if (ok) waiting?.resolve(decodeNode(text));
    else waiting?.reject(Object.assign(new Error(), JSON.parse(text)));
  }
}
