import { amplitudeRecords } from './amplitude.ts';
import type { DeviceLink, DirtyRecord, ExpectedEvent, MakeRecords } from './dirty-record.ts';
import { matomoRecords } from './matomo.ts';
import { mixpanelRecords } from './mixpanel.ts';
import { segmentRecords } from './segment.ts';

/** By format. */
export const dirtyFormats: Readonly<Record<string, MakeRecords>> = {
  amplitude: amplitudeRecords,
  matomo: matomoRecords,
  mixpanel: mixpanelRecords,
  segment: segmentRecords,
};

/** What an import of some records has to come to. */
export interface Oracle {
  add(record: DirtyRecord): void;
  readonly totals: Readonly<Record<'records' | 'stored' | 'duplicates' | 'skipped' | 'rejected', number>>;
  /** The distinct ids of each person: a device belongs to its first user by the time of the events. */
  persons(): readonly (readonly string[])[];
}

/** `onStored`: called with each event that is stored, once. */
export function createOracle(onStored: (event: ExpectedEvent) => void): Oracle {
  const totals = { records: 0, stored: 0, duplicates: 0, skipped: 0, rejected: 0 };
  const seen = new Set<string>();
  const first = new Map<string, DeviceLink>();
  const ids = new Set<string>();
  const addEvent = (event: ExpectedEvent): void => {
    if (seen.has(event.identity)) {
      totals.duplicates += 1;
      return;
    }
    seen.add(event.identity);
    if (event.isNobodys !== true) ids.add(event.distinctId);
    totals.stored += 1;
    onStored(event);
  };
  return {
    totals,
    add: ({ expected }) => {
      totals.records += 1;
      if (expected.is !== 'stored') {
        totals[expected.is] += 1;
        return;
      }
      const { event, others = [], link } = expected;
      if (link !== undefined && link.ms < (first.get(link.device)?.ms ?? Infinity)) first.set(link.device, link);
      for (const each of [event, ...others]) addEvent(each);
    },
    persons: () => {
      const owner = (id: string): string => first.get(id)?.user ?? id;
      const persons = new Map<string, string[]>();
      for (const id of new Set([...ids, ...[...first].flatMap(([device, { user }]) => [device, user])])) {
        persons.set(owner(id), [...(persons.get(owner(id)) ?? []), id]);
      }
      return [...persons.values()];
    },
  };
}

/** One text for each event, which is what is compared. */
export function textOf({ event, distinctId, ms, probe }: Omit<ExpectedEvent, 'identity'>): string {
  return [event, distinctId, ms, probe].join('\u0001');
}

/** Finds the JSON of the property `probe` in that of an event; the same for JavaScript and RE2. */
export const probePattern: string = '"probe":("(?:[^"\\\\]|\\\\.)*"|-?[0-9.]+|\\[\\]|\\{"deep":[^}]*\\}\\]\\}\\})';
