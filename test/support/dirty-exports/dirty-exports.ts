import { amplitudeRecords } from './amplitude.ts';
import type { DeviceLink, DirtyRecord, ExpectedEvent, MakeRecords } from './dirty-record.ts';
import { mixpanelRecords } from './mixpanel.ts';

/** By format. */
export const dirtyFormats: Readonly<Record<string, MakeRecords>> = {
  amplitude: amplitudeRecords,
  mixpanel: mixpanelRecords,
};

/** What an import of some records has to come to. */
export interface Oracle {
  add(record: DirtyRecord): void;
  readonly totals: Readonly<Record<'records' | 'stored' | 'duplicates' | 'skipped' | 'rejected', number>>;
  /** Of each device that has one: its first user by the time of the events. */
  firstUsers(): ReadonlyMap<string, string>;
}

/** `onStored`: called with each event that is stored, once. */
export function createOracle(onStored: (event: ExpectedEvent) => void): Oracle {
  const totals = { records: 0, stored: 0, duplicates: 0, skipped: 0, rejected: 0 };
  const seen = new Set<string>();
  const first = new Map<string, DeviceLink>();
  return {
    totals,
    add: ({ expected }) => {
      totals.records += 1;
      if (expected.is !== 'stored') {
        totals[expected.is] += 1;
        return;
      }
      const { event, link } = expected;
      if (link !== undefined && link.ms < (first.get(link.device)?.ms ?? Infinity)) first.set(link.device, link);
      if (seen.has(event.identity)) {
        totals.duplicates += 1;
        return;
      }
      seen.add(event.identity);
      totals.stored += 1;
      onStored(event);
    },
    firstUsers: () => new Map([...first].map(([device, { user }]) => [device, user])),
  };
}

/** One text for each event, which is what is compared. */
export function textOf({ event, distinctId, ms, probe }: Omit<ExpectedEvent, 'identity'>): string {
  return [event, distinctId, ms, probe].join('\u0001');
}
