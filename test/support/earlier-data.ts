/**
 * What tools/make-earlier-data.ts puts into a data directory with an earlier version, and what the test of the upgrade
 * expects to find: one list for both.
 */

/** Holds the directory `data`, as the earlier version left it. */
export const earlierDataFile = new URL('../fixtures/earlier-data.tar.gz', import.meta.url);

export interface EarlierEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

function eventOf(number: number, event: string, timestamp: string, more: object = {}): EarlierEvent {
  return {
    uuid: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
    event,
    distinct_id: `person-${number % 5}`,
    timestamp,
    properties: { n: number, email: emailOf(number), ...more },
  };
}

function emailOf(number: number): string {
  return `person-${number % 5}@example.com`;
}

const minutes = (number: number): string => String(number % 60).padStart(2, '0');

/** Stored by the earlier version. The plugin counts each of them, and the other transformation hashes its e-mail address. */
export const earlierLive: readonly EarlierEvent[] = [
  ...Array.from({ length: 40 }, (_, n) =>
    eventOf(n, 'opened', `2026-11-01T10:${minutes(n)}:00.000Z`, n % 10 < 5 ? { $set: { last: n } } : {}),
  ),
  { ...eventOf(42, 'installed', '2026-11-01T09:00:00.000Z'), distinct_id: 'device-0' },
  {
    ...eventOf(40, '$identify', '2026-11-01T11:00:00.000Z', { $anon_distinct_id: 'device-0', $set: { plan: 'pro' } }),
    distinct_id: 'person-0',
  },
  eventOf(41, '$groupidentify', '2026-11-01T11:01:00.000Z', {
    $group_type: 'company',
    $group_key: 'acme',
    $group_set: { seats: 7 },
  }),
];

/** The same over five months of 2022. */
export const earlierHistory: readonly EarlierEvent[] = Array.from({ length: 30 }, (_, n) =>
  eventOf(100 + n, 'imported', `2022-0${1 + (n % 5)}-15T08:${minutes(n)}:00.000Z`, { $set: { first: 100 + n } }),
);

/** In the log when the earlier version was killed, and in no store. */
export const earlierWaiting: readonly EarlierEvent[] = Array.from({ length: 20 }, (_, n) =>
  eventOf(200 + n, 'waited', `2026-11-02T10:${minutes(n)}:00.000Z`, n === 19 ? { $set: { last: 219 } } : {}),
);
export const earlierWaitingHistory: readonly EarlierEvent[] = Array.from({ length: 10 }, (_, n) =>
  eventOf(300 + n, 'imported', `2022-07-15T08:${minutes(n)}:00.000Z`),
);

/** Sent beside good events; each became a dead letter. */
export const earlierDeadLetters: readonly string[] = [
  '{"event":"without an id","properties":{"n":1}}',
  '{"distinct_id":"without a name","properties":{"n":2}}',
];

/** The project of the import run, and what the run stored. */
export const earlierImportProject = 'Imported';
export const earlierImported: readonly EarlierEvent[] = Array.from({ length: 12 }, (_, n) =>
  eventOf(400 + n, 'bought', `2023-0${1 + (n % 3)}-20T08:${minutes(n)}:00.000Z`),
);
export const earlierUser = { email: 'ann@example.com', first_name: 'Ann', role: 'editor' };
/** Paused, so that it never starts a run. */
export const earlierSchedule = { every_minutes: 1440, overlap_minutes: 30, paused: true, from: '2026-10-01T00:00:00Z' };

/** Sees every event once, whatever happens, and numbers it. */
export const earlierPlugin = `export async function processEvent(event, { storage }) {
  const count = (await storage.get('count', 0)) + 1;
  await storage.set('count', count);
  event.properties.count = count;
  return event;
}`;

export const earlierSalt = 'a-salt-of-earlier-days';
export const earlierSecret = 'a-secret-of-earlier-days';
