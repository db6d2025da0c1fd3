import { isObject } from '../../../base/json.ts';
import { setMember, type Json, type Properties } from '../read-values.ts';

/** Keeps what an automatic event knows of the page's elements, where no chain says it. */
export function addElements({ elements, elements_chain: chain }: Json, properties: Properties): void {
  if (!Array.isArray(elements) || (typeof chain === 'string' && chain !== '')) return;
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
