import type { Notice } from '../../../wire/contract/notices.ts';
import type { Address } from '../destinations.ts';

/** A notification on its way to one destination. */
export interface Letter {
  /** The same in every attempt, so that a receiver can detect a duplicate. */
  readonly id: string;
  readonly notice: Notice;
  /** Address of the console page where the cause can be fixed; `undefined` if the service does not know its public address. */
  readonly url: string | undefined;
  readonly address: Address;
}

/** Sends a letter. Resolves when the receiver has accepted it; throws CarrierError. */
export type Carrier = (letter: Letter) => Promise<void>;

/** A refused delivery. The message holds no secret. */
export class CarrierError extends Error {
  override name = 'CarrierError';
  /** Whether a later attempt may succeed. */
  readonly retry: boolean;

  constructor(message: string, { retry, ...options }: ErrorOptions & { readonly retry: boolean }) {
    super(message, options);
    this.retry = retry;
  }
}
