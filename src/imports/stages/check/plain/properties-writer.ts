import { isObject } from '../../../../base/json.ts';
import type { PlainDerived, PlainTable } from '../../../formats/plain-table.ts';
import { putBytes, type ByteWriter } from './byte-writer.ts';
import { checkedProperties, countryName, isListed, type CompiledTable, type Target } from './compiled-table.ts';
import { createAnswers, createFragment, type Answers, type Fragment, type Looked } from './fragments.ts';
import type { ItemSpans } from './item-lists.ts';
import { createPropertyGroups, type PersonPart, type SettledOf } from './property-groups.ts';
import { PropertyValues } from './property-values.ts';
import type { RecordSpans } from './record-spans.ts';
import { createSettledTexts } from './settled-texts.ts';
import { createUrlParts } from './url-parts.ts';

/** Writes the properties of an event as its reader would have made them. */
export interface PropertiesWriter {
  /** Bytes that they need at most; -1: the record is odd. `ids` are the properties that follow from its ids. */
  prepare(json: Buffer, ids: Fragment): number;
  /** What was prepared: an object without its last bracket. */
  write(writer: ByteWriter, json: Buffer): void;
}

type Step =
  | { readonly kind: 'list'; readonly list: number }
  | { readonly kind: 'derived'; readonly answers: Answers<Fragment> }
  | { readonly kind: 'ids' | 'person' | '$set' };

/** The only words that begin so are true and false. */
const trueByte = 0x74;
const falseByte = 0x66;
/** Punctuation, and what settled texts may be longer. */
const slack = 256;
const noGeoip = Buffer.from(`"${checkedProperties.noGeoip}":true,`);

export function createPropertiesWriter(
  table: PlainTable,
  compiled: CompiledTable,
  spans: RecordSpans,
): PropertiesWriter {
  const steps = stepsOf(table, compiled);
  const values = new PropertyValues(spans, compiled.properties);
  const person = personParts(table, compiled);
  const groups = createPropertyGroups(compiled, spans, values, person);
  const settle = compiled.isSettled ? undefined : createSettledTexts(compiled, spans);
  const url = compiled.isSettled ? undefined : createUrlParts(compiled, spans);
  const checks = createChecks(compiled, spans, table.properties.includes('person'));
  const nameNumber = compiled.propertyOf(countryName);
  const end = Buffer.from(table.source === undefined ? '' : `"$import_source":${JSON.stringify(table.source)},`);
  /** Of the record, one for each step. */
  const fragments: Fragment[] = steps.map(() => none);
  const settledOf: SettledOf = settle === undefined ? () => undefined : settle.of;

  // Loops by index: at every record, an iterator would be made for each.
  const addFragment = ({ bytes, names, looked, heard }: Fragment): boolean => {
    for (let at = 0; at < names.length; at += 1) if (!spans.items.claim(names[at] as number)) return false;
    for (let at = 0; at < looked.length; at += 1) {
      const { property, from, to } = looked[at] as Looked;
      values.set(property, bytes, from, to);
    }
    for (let at = 0; at < heard.length; at += 1) spans.heard.push(heard[at] as string);
    return true;
  };
  return {
    prepare: (json, ids) => {
      values.clear(json);
      let bytes = spans.bytes + end.length + slack;
      for (let at = 0; at < steps.length; at += 1) {
        const step = steps[at] as Step;
        const fragment = step.kind === 'ids' ? ids : step.kind === 'derived' ? step.answers.of(spans, json) : none;
        if (fragment === undefined || !addFragment(fragment)) return -1;
        fragments[at] = fragment;
        bytes += fragment.bytes.length * 2;
      }
      const ofPerson = preparePerson(person, spans, json);
      if (ofPerson < 0 || !checks.pass(json, ofPerson > 0)) return -1;
      bytes += ofPerson;
      if (settle === undefined || url === undefined) return bytes;
      if (!settle.prepare(json) || !url.prepare(json) || values.isShortText(nameNumber)) return -1;
      return bytes + url.bytes;
    },
    write: (writer, json) => {
      groups.clear();
      for (let at = 0; at < steps.length; at += 1) {
        const step = steps[at] as Step;
        if (step.kind === 'list') groups.writeList(writer, json, spans.items.lists[step.list] as ItemSpans, settledOf);
        else if (step.kind === 'person' || step.kind === '$set') groups.writeRest(writer, json, step.kind);
        else putBytes(writer, (fragments[at] as Fragment).bytes);
      }
      url?.write(writer, json);
      if (!checks.hasNoGeoip()) putBytes(writer, noGeoip);
      putBytes(writer, end);
      // The last comma.
      writer.at -= 1;
    },
  };
}

/** Finds what follows from members. Gives its bytes; negative: the record is odd. */
function preparePerson(person: readonly PersonPart[], spans: RecordSpans, json: Buffer): number {
  let bytes = 0;
  for (let at = 0; at < person.length; at += 1) {
    const part = person[at] as PersonPart;
    if ('list' in part) continue;
    const fragment = part.answers.of(spans, json);
    if (fragment === undefined) return -1;
    const { names } = fragment;
    for (let name = 0; name < names.length; name += 1) if (!spans.items.claim(names[name] as number)) return -1;
    part.fragment = fragment;
    bytes += fragment.bytes.length;
  }
  return bytes;
}

/** Of steps that have none, so that each step has a fragment. */
const none: Fragment = { bytes: Buffer.alloc(0), names: [], looked: [], heard: [] };

function stepsOf({ properties }: PlainTable, compiled: CompiledTable): readonly Step[] {
  let lists = 0;
  return properties.map((step) => {
    if (typeof step === 'string') return { kind: step };
    if (isListed(step)) return { kind: 'list', list: lists++ };
    return { kind: 'derived', answers: derivedAnswers(step, compiled) };
  });
}

/** As the lists of the person stand in the compiled table, and what stands between them. */
function personParts({ person = [] }: PlainTable, compiled: CompiledTable): readonly PersonPart[] {
  let list = compiled.lists.length - person.filter(isListed).length;
  return person.map((step) =>
    isListed(step)
      ? { into: step.into, list: list++ }
      : { into: step.into, answers: derivedAnswers(step, compiled, step.into), fragment: none },
  );
}

function derivedAnswers(
  { of, from, make, isVaried }: PlainDerived,
  compiled: CompiledTable,
  target: Target = 'properties',
): Answers<Fragment> {
  const numbers = from.map(of === 'members' ? compiled.memberOf : compiled.propertyOf);
  return createAnswers(isVaried === true ? 8192 : 256, { of, numbers }, (values) => {
    const properties = make(values);
    return properties === undefined ? undefined : createFragment(properties, compiled, target);
  });
}

/** Properties that are allowed with some values only, of an object's members. */
interface Checks {
  /** False: the record is odd. `saysMore`: something follows of the person that is in no list. */
  pass(json: Buffer, saysMore: boolean): boolean;
  /** It stands among the properties already. */
  hasNoGeoip(): boolean;
}

function createChecks(compiled: CompiledTable, spans: RecordSpans, addsPerson: boolean): Checks {
  const [noGeoipNumber, groups, profile] = [
    checkedProperties.noGeoip,
    checkedProperties.groups,
    checkedProperties.profile,
  ].map(compiled.propertyOf) as [number, number, number];
  const areTrimmed = createAnswers(256, { of: 'properties', numbers: [groups] }, ([value]) => isTrimmedObject(value));
  return {
    pass: (json, saysMore) => {
      const geoip = spans.propertyFrom(noGeoipNumber);
      if (geoip >= 0 && (json[geoip] !== trueByte || spans.propertyTo(noGeoipNumber) - geoip !== 4)) return false;
      if (spans.propertyFrom(groups) >= 0 && areTrimmed.of(spans, json) !== true) return false;
      // What such an event says of a person is not stored.
      const from = spans.propertyFrom(profile);
      return from < 0 || (json[from] === falseByte && !addsPerson && !spans.isOfPerson && !saysMore);
    },
    hasNoGeoip: () => spans.propertyFrom(noGeoipNumber) >= 0,
  };
}

/** Keys of groups with white space around them are counted. */
function isTrimmedObject(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((key) => typeof key !== 'string' || key.trim() === key);
}
