import { isNobody } from '../../../base/nobody-ids.ts';
import type { EventWriter } from '../event-writer.ts';
import type { Names } from '../names.ts';
import { namedByText, type PlainIdentity, type PlainTable } from '../plain-table.ts';
import { idOf } from '../read-values.ts';
import { utc, type Zone } from '../times.ts';

export interface PosthogPlain {
  readonly writer: EventWriter;
  readonly properties: Names;
  readonly person: Names;
  readonly columns: Names;
  readonly zone: Zone;
  /** Whether the properties of the person beside an event are for `$set`. */
  readonly setsPerson: boolean;
}

/** What events of exports become, with properties as an object or as its JSON; undefined: properties of persons have other names. */
export function posthogPlain({
  writer,
  properties,
  person,
  columns,
  zone,
  setsPerson,
}: PosthogPlain): PlainTable | undefined {
  // The name of one decides that of another, whichever of the objects they are in.
  if (person.size > 0) return undefined;
  return {
    source: 'posthog',
    event: ['event'],
    eventName: namedByText(writer),
    time: { path: 'timestamp', zone, numbers: utc },
    ids: { paths: ['distinct_id'], read: ([id]) => identityOf(id) },
    uuid: { path: 'uuid', is: 'uuid' },
    properties: [
      { bag: 'properties', names: properties, mayBeText: true },
      { bag: '', names: columns, nothing: [null, ''] },
      { members: { $elements_chain: 'elements_chain' }, nothing: [null, ''], areTexts: true },
      { of: 'members', from: ['elements'], make: ([elements]) => (isEmptyList(elements) ? {} : undefined) },
      '$set',
    ],
    person: [
      ...(setsPerson ? [{ bag: 'person_properties', into: '$set', names: person, mayBeText: true } as const] : []),
      { bag: 'properties.$set', into: '$set', names: person },
      { bag: 'properties.$set_once', into: '$set_once', names: person },
    ],
    odd: besideProperties,
    isSettled: true,
    identify: undefined,
  };
}

/** They win over what stands in the properties. */
const besideProperties: ReadonlySet<string> = new Set(['$set', '$set_once', '$unset']);

function identityOf(value: unknown): PlainIdentity | undefined {
  const distinctId = idOf(value);
  if (distinctId === undefined || isNobody(distinctId)) return undefined;
  return { distinctId, link: undefined, properties: {} };
}

function isEmptyList(value: unknown): boolean {
  return !Array.isArray(value) || value.length === 0;
}
