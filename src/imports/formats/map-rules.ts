import { namespaceOf, partsSeparator } from './derived-uuids.ts';
import { unreadable, type EventWriter, type NoEvents } from './event-writer.ts';
import type { NameTable } from './format.ts';
import { namesOf } from './names.ts';
import { personId, idOf, type Json, memberAt } from './read-values.ts';
import { timeOfTextOrMs } from './read-times.ts';
import type { Bag, EventRule, IdPart, IdRule, TimeRule, UuidRule, TimeForm } from './record-map.ts';
import { kindOfTime, utc, type Zone, epochTime, textTime } from './times.ts';

/** Rules for records as most tools write them: each thing in a member of its own. */

/** Of an object whose members are put under the names of a table, unless they are empty. */
export function put(table: NameTable['properties']): Pick<Bag, 'names' | 'nothing' | 'taken'> {
  return { names: namesOf(table), nothing: [null, ''], taken: 'replaces' };
}

/** The first of the members that is an id; without one, `ofAll` if it is one. */
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

/** A text of ISO 8601, or milliseconds. `expected`: what is asked for where there is neither. */
export function timeIn(member: string, expected: string, zone: Zone = utc): TimeRule {
  return {
    from: [member],
    read: (record) => timeOfTextOrMs(record[member], zone),
    otherwise: ({ record }) => unreadable(`expected ${expected}, got ${kindOfTime(record[member])}`),
  };
}

/** The user, else the device: of each the first of its members that is an id of somebody. */
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

/** The first of the members that is an id, where that is a UUID; else it follows from it and `more`, without one from the content. */
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

/** As the writer puts parts of an id together. */
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

/** The rule of a time that stands at one place. */
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
