import { namespaceOf, partsSeparator } from './derived-uuids.ts';
import { unreadable, type EventWriter, type NoEvents } from './event-writer.ts';
import type { NameTable } from './format.ts';
import { namesOf } from './names.ts';
import { personId, idOf, type Json, memberAt } from './read-values.ts';
import { timeOfTextOrMs } from './read-times.ts';
import type { Bag, EventRule, IdPart, IdRule, TimeRule, UuidRule, TimeForm } from './record-map.ts';
import { kindOfTime, utc, type Zone, epochTime, textTime } from './times.ts';

/** Rules for records in the common form, with each value in its own member. */

/** Writes the members of an object under the names of a table, unless they are empty. */
export function put(table: NameTable['properties']): Pick<Bag, 'names' | 'nothing' | 'taken'> {
  return { names: namesOf(table), nothing: [null, ''], taken: 'replaces' };
}

/** Takes the event name from the first member that is an id, or else from `ofAll`. */
export function nameIn(
  members: readonly string[],
  missing: (record: Json) => NoEvents,
  { eventName }: EventWriter,
  ofAll?: string,
): EventRule {
  return {
    from: members,
    read: (record) => firstOf(record, members) ?? idOf(ofAll) ?? missing(record),
    named: eventName,
  };
}

/** Reads ISO 8601 text or milliseconds. `expected` completes the reason if the member has neither. */
export function timeIn(member: string, expected: string, zone: Zone = utc): TimeRule {
  return {
    from: [member],
    read: (record) => timeOfTextOrMs(record[member], zone),
    otherwise: ({ record }) => unreadable(`expected ${expected}, got ${kindOfTime(record[member])}`),
  };
}

/** Identifies the user or else the device, each by its first member with an id that is not a placeholder. */
export function userOrDevice(users: readonly string[], devices: readonly string[], missing: NoEvents): IdRule {
  return {
    from: [...users, ...devices],
    read: (record) => {
      const user = firstOf(record, users, personId);
      const device = firstOf(record, devices, personId);
      const distinctId = user ?? device;
      return distinctId === undefined ? missing : { distinctId, user, device };
    },
  };
}

/**
 * Uses the first member that is an id as the uuid if it is one, and otherwise derives the uuid from it and `more`. Without such a
 * member the content decides.
 */
export function uuidIn(
  slug: string,
  members: readonly string[],
  { contentId }: EventWriter,
  more: readonly IdPart[] = [],
): Extract<UuidRule, { is: 'parts' }> {
  return {
    is: 'parts',
    namespace: namespaceOf(slug, 'event'),
    parts: inOneText([{ from: members, read: (record) => firstOf(record, members) }, ...more]),
    mayBeUuid: true,
    otherwise: ({ record }) => contentId(record),
  };
}

/** Joins parts of an id as the writer does. */
function inOneText(parts: readonly IdPart[]): readonly IdPart[] {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [{ text: partsSeparator }, part]));
}

function firstOf(record: Json, members: readonly string[], read = idOf): string | undefined {
  for (const member of members) {
    const id = read(record[member]);
    if (id !== undefined) return id;
  }
  return undefined;
}

/** Builds the rule for a time at one path. */
export function timeAt(form: TimeForm, otherwise: TimeRule['otherwise']): TimeRule {
  const { path, zone, numbers, unit } = form;
  const valueOf = memberAt(path);
  return {
    form,
    from: [path],
    read: (record) => {
      const value = valueOf(record);
      const time = unit === undefined ? textTime(value, zone) : undefined;
      return time ?? (numbers === undefined ? undefined : epochTime(value, unit, numbers));
    },
    otherwise,
  };
}
