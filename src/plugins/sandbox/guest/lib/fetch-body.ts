import { bufferOver, type GuestBuffer } from './buffer.ts';
import { bytesOfView } from './text-coding.ts';
import { URLSearchParams } from './url-search-params.ts';
import { payloadBytes, payloadText, type Payload, toPayload } from './wire.ts';

/** A request without a response, or an unreadable response. */
export class FetchError extends Error {
  override name = 'FetchError';
  /** `system`, `request-timeout`, `max-size`, `invalid-json`. */
  readonly type: string;
  readonly code: string | undefined;
  readonly errno: string | undefined;

  constructor(message: string, type: string, code?: string) {
    super(message);
    this.type = type;
    this.code = code;
    this.errno = code;
  }
}

export interface GivenBody {
  readonly payload: Payload | null;
  readonly contentType: string | null;
}

/** A body as received or as held by another one. */
export class HeldBody {
  readonly payload: Payload | null;

  constructor(payload: Payload | null) {
    this.payload = payload;
  }
}

/** Accepts node-fetch's bodies, except streams and forms. */
export function bodyOf(value: unknown): GivenBody {
  if (value === undefined || value === null) return { payload: null, contentType: null };
  if (value instanceof HeldBody) return { payload: value.payload, contentType: null };
  if (value instanceof URLSearchParams) {
    return { payload: { text: value.toString() }, contentType: 'application/x-www-form-urlencoded;charset=UTF-8' };
  }
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) {
    return { payload: toPayload(bytesOfView(value)), contentType: null };
  }
  return { payload: { text: String(value) }, contentType: 'text/plain;charset=UTF-8' };
}

/** Can be read once, in one of these ways. */
export class Body {
  readonly #payload: Payload | null;
  #used = false;
  readonly #about: () => string;

  constructor(payload: Payload | null, about: () => string) {
    this.#payload = payload;
    this.#about = about;
  }

  get bodyUsed(): boolean {
    return this.#used;
  }

  async text(): Promise<string> {
    return payloadText(this.#take());
  }

  async json(): Promise<unknown> {
    const text = payloadText(this.#take());
    try {
      return JSON.parse(text);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new FetchError(`invalid json response body at ${this.#about()} reason: ${reason}`, 'invalid-json');
    }
  }

  async buffer(): Promise<GuestBuffer> {
    return bufferOver(payloadBytes(this.#take()));
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return payloadBytes(this.#take()).buffer;
  }

  /** Returns the held body for a copy or for sending. It can still be read afterwards. */
  static held(body: Body): HeldBody {
    if (body.#used) throw new Error('cannot clone body after it is used');
    return new HeldBody(body.#payload);
  }

  #take(): Payload {
    if (this.#used) throw new TypeError(`body used already for: ${this.#about()}`);
    this.#used = true;
    return this.#payload ?? { text: '' };
  }
}
