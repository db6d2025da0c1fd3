import { currentProperties, initialProperties } from '../../../formats/add-person-of-event.ts';
import { putByte, putBytes, putSpan, type ByteWriter } from './byte-writer.ts';
import type { CompiledTable, Target } from './compiled-table.ts';
import type { Answers, Fragment } from './fragments.ts';
import type { ItemSpans } from './item-lists.ts';
import type { KeyMeaning } from './key-table.ts';
import type { PropertyValues } from './property-values.ts';
import type { RecordSpans } from './record-spans.ts';

/** Writes properties that stand in lists, and what is gathered of the person. */
export interface PropertyGroups {
  /** Begins with the next event. */
  clear(): void;
  writeList(writer: ByteWriter, json: Buffer, items: ItemSpans, settledOf: SettledOf): void;
  /** What is gathered, where it has not been written in its place; `person`: with what the event says of its person. */
  writeRest(writer: ByteWriter, json: Buffer, kind: 'person' | '$set'): void;
}

/** What is written in place of the value of a property that is looked at; undefined: the value stays as it is. */
export type SettledOf = (property: number) => Buffer | undefined;

/** What is gathered of the person, piece by piece: a list, or properties that follow from members. */
export type PersonPart =
  | { readonly into: Group['into']; readonly list: number }
  | { readonly into: Group['into']; readonly answers: Answers<Fragment>; fragment: Fragment };

interface Group {
  readonly into: Exclude<Target, 'properties'>;
  readonly key: Buffer;
  readonly parts: readonly PersonPart[];
  /** What an event says of its person without being asked. */
  readonly standard: readonly StandardProperty[];
  isWritten: boolean;
}

interface StandardProperty {
  readonly property: number;
  readonly key: Buffer;
  readonly name: number;
}

const comma = 0x2c;
const closeObject = 0x7d;
const unsettled: SettledOf = () => undefined;

export function createPropertyGroups(
  compiled: CompiledTable,
  { items }: RecordSpans,
  values: PropertyValues,
  person: readonly PersonPart[],
): PropertyGroups {
  const { lists } = items;
  const groups = { $set: groupOf(compiled, person, '$set'), $set_once: groupOf(compiled, person, '$set_once') };
  const inOrder = Object.values(groups);

  const writeGroup = (writer: ByteWriter, json: Buffer, group: Group, isPerson: boolean): boolean => {
    const start = writer.at;
    putBytes(writer, group.key);
    const empty = writer.at;
    for (let at = 0; at < group.parts.length; at += 1) {
      const part = group.parts[at] as PersonPart;
      if ('list' in part) writeList(writer, json, lists[part.list] as ItemSpans, unsettled);
      else putBytes(writer, part.fragment.bytes);
    }
    if (isPerson) {
      for (let at = 0; at < group.standard.length; at += 1) {
        const { property, key, name } = group.standard[at] as StandardProperty;
        if (!items.isClaimed(name)) values.write(writer, property, key);
      }
    }
    if (writer.at === empty) {
      writer.at = start;
      return false;
    }
    writer.bytes[writer.at - 1] = closeObject;
    putByte(writer, comma);
    return true;
  };

  function writeList(writer: ByteWriter, json: Buffer, spans: ItemSpans, settledOf: SettledOf): void {
    const { count, entries, from } = spans;
    for (let index = 0; index < count; index += 1) {
      if ((from[index] as number) < 0) continue;
      const { group } = entries[index] as KeyMeaning;
      if (group !== undefined && writeGroup(writer, json, groups[group], false)) groups[group].isWritten = true;
      else index = writeItems(writer, json, { spans, index, settledOf });
    }
  }

  return {
    clear: () => {
      for (const group of inOrder) group.isWritten = false;
    },
    writeList,
    writeRest: (writer, json, kind) => {
      for (const group of inOrder) if (!group.isWritten) writeGroup(writer, json, group, kind === 'person');
    },
  };
}

function groupOf(compiled: CompiledTable, person: readonly PersonPart[], target: Group['into']): Group {
  const standard = target === '$set' ? currentProperties : initialProperties;
  return {
    into: target,
    key: Buffer.from(`"${target}":{`),
    parts: person.filter(({ into }) => into === target),
    standard: standard.map((name) => ({
      property: compiled.propertyOf(name),
      key: Buffer.from(`${JSON.stringify(name)}:`),
      name: compiled.names.numberOf(target, name),
    })),
    isWritten: false,
  };
}

/** Writes an item, and those behind it that lie side by side with it; gives the index of the last one. */
function writeItems(
  writer: ByteWriter,
  json: Buffer,
  {
    spans,
    index: first,
    settledOf,
  }: { readonly spans: ItemSpans; readonly index: number; readonly settledOf: SettledOf },
): number {
  const { count, entries, key, from, to } = spans;
  const entry = entries[first] as KeyMeaning;
  let last = first;
  const other = entry.property < 0 ? undefined : settledOf(entry.property);
  if (other !== undefined) {
    putBytes(writer, entry.output);
    putBytes(writer, other);
  } else if (isAsWritten(spans, first, settledOf)) {
    while (last + 1 < count && key[last + 1] === (to[last] as number) + 1 && isAsWritten(spans, last + 1, settledOf))
      last += 1;
    putSpan(writer, json, key[first] as number, to[last] as number);
  } else {
    putBytes(writer, entry.output);
    putSpan(writer, json, from[first] as number, to[first] as number);
  }
  putByte(writer, comma);
  return last;
}

/** Under the same key, with nothing between it and its value. */
function isAsWritten({ entries, key, from }: ItemSpans, index: number, settledOf: SettledOf): boolean {
  const entry = entries[index] as KeyMeaning;
  const start = key[index] as number;
  return (
    entry.isKept &&
    start >= 0 &&
    entry.group === undefined &&
    (from[index] as number) - start === entry.output.length &&
    (entry.property < 0 || settledOf(entry.property) === undefined)
  );
}
