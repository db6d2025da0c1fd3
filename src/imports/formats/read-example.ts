import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { Format } from './format.ts';

/** What `example.json` of a format holds. An option that takes JSON stands in it as a value instead of as text. */
export interface ExampleFile {
  readonly options?: Readonly<Record<string, unknown>>;
  readonly records: readonly unknown[];
  readonly events: readonly WireEvent[];
}

export function readExample({ options = {}, records, events }: ExampleFile): Format['example'] {
  const texts = Object.entries(options).map(
    ([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)] as const,
  );
  return { options: Object.fromEntries(texts), records, events };
}
