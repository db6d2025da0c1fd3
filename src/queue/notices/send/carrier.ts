import type { Notice } from '../../../wire/contract/notices.ts';
import type { Address } from '../destinations.ts';

/** A notice on its way to one destination. */
export interface Letter {
  /** The same in every attempt: who gets it twice can tell. */
  readonly id: string;
  readonly notice: Notice;
  /** Address of the page in the console where it is repaired; undefined: the service does not know its own. */
  readonly url: string | undefined;
  readonly address: Address;
}

/** Sends it; done once the other side has taken it. Throws CarrierError. */
export type Carrier = (letter: Letter) => Promise<void>;

/** It was not taken. The message holds no secret. */
export class CarrierError extends Error {
  override name = 'CarrierError';
  /** The same letter may be taken later. */
  readonly retry: boolean;

  constructor(message: string, { retry, ...options }: ErrorOptions & { readonly retry: boolean }) {
    super(message, options);
    this.retry = retry;
  }
}
