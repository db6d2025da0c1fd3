import type { EventWriter } from '../event-writer.ts';
import type { Names } from '../names.ts';
import type { Zone } from '../times.ts';
import type { GroupProperty } from './groups.ts';

/** What a reader works with, made once. */
export interface MixpanelContext {
  readonly writer: EventWriter;
  readonly properties: Names;
  readonly zone: Zone;
  readonly groups: readonly GroupProperty[];
  readonly identify: boolean;
  readonly countryName: (code: string) => string | undefined;
}
