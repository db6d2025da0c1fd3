import { objectIn } from '../../base/json.ts';
import type { PersonRecord } from '../../wire/contract/persons.ts';
import type { Column, Row } from './columns.ts';
import type { EventRecord } from './event-pages.ts';

/** Events as they are stored, which the import format `millrace` reads back. */
export const eventColumns: readonly Column[] = [
  { name: 'uuid', type: 'text' },
  { name: 'event', type: 'text' },
  { name: 'distinct_id', type: 'text' },
  { name: 'timestamp', type: 'time' },
  { name: 'properties', type: 'json' },
  { name: 'historical_migration', type: 'boolean' },
  { name: 'received_at', type: 'time' },
  { name: 'import_run', type: 'text' },
];

export function eventRow(event: EventRecord): Row {
  return [
    event.uuid_text,
    event.name,
    event.distinct_id,
    BigInt(event.micros),
    event.properties,
    event.historical_migration,
    BigInt(event.received_micros),
    event.run,
  ];
}

/** The events model of PostHog's batch exports to S3: https://posthog.com/docs/data-pipelines/batch-exports/s3 */
export const posthogEventColumns: readonly Column[] = [
  { name: 'uuid', type: 'text' },
  { name: 'event', type: 'text' },
  { name: 'distinct_id', type: 'text' },
  { name: 'person_id', type: 'text' },
  { name: 'properties', type: 'json' },
  { name: 'person_properties', type: 'json' },
  { name: 'elements_chain', type: 'text' },
  { name: 'timestamp', type: 'time' },
  { name: 'created_at', type: 'time' },
  { name: '_inserted_at', type: 'time' },
];

/** @param person as it is now, if the id has one */
export function posthogEventRow(event: EventRecord, person: PersonRecord | undefined): Row {
  const receivedAt = BigInt(event.received_micros);
  return [
    event.uuid_text,
    event.name,
    event.distinct_id,
    person?.uuid ?? null,
    event.properties,
    person === undefined ? null : JSON.stringify(person.properties),
    elementsOf(event.properties),
    BigInt(event.micros),
    receivedAt,
    receivedAt,
  ];
}

const elementsProperty = '$elements_chain';

function elementsOf(properties: string): string {
  if (!properties.includes(elementsProperty)) return '';
  const chain = objectIn(properties)?.[elementsProperty];
  return typeof chain === 'string' ? chain : '';
}
