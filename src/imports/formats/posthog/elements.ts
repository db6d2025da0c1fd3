import { isObject } from '../../../base/json.ts';
import { setMember, type Json, type Properties } from '../read-values.ts';

/** Keeps what an automatic event knows of the page's elements, in the properties that client libraries use. */
export function addElements(record: Json, properties: Properties): void {
  const chain = record['elements_chain'];
  if (typeof chain === 'string' && chain !== '') {
    properties['$elements_chain'] ??= chain;
    return;
  }
  const elements = record['elements'];
  if (!Array.isArray(elements) || elements.length === 0) return;
  properties['$elements'] ??= (elements as readonly unknown[]).filter(isObject).map(wireElement);
}

/** Stored name → name on the wire. */
const wireNames: readonly (readonly [stored: string, wire: string])[] = [
  ['tag_name', 'tag_name'],
  ['text', '$el_text'],
  ['$el_text', '$el_text'],
  ['href', 'attr__href'],
  ['attr_id', 'attr__id'],
  ['attr_class', 'attr__class'],
  ['nth_child', 'nth_child'],
  ['nth_of_type', 'nth_of_type'],
];

function wireElement(element: Json): Properties {
  const wire: Properties = {};
  for (const [stored, name] of wireNames) {
    const value = element[stored];
    if (value !== undefined && value !== null) wire[name] = value;
  }
  const attributes = isObject(element['attributes']) ? element['attributes'] : element;
  for (const key of Object.keys(attributes)) {
    if (key.startsWith('attr__') && !Object.hasOwn(wire, key)) setMember(wire, key, attributes[key]);
  }
  return wire;
}
