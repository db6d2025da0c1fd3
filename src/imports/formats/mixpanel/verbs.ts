import { isFailedLink, plainIdOf } from './ids.ts';
import { kindOf, type Json, type Properties } from '../read-values.ts';
import { isNobody } from '../../../base/nobody-ids.ts';

/** One link between two ids. */
interface Link {
  readonly event: string;
  readonly distinctId: string;
  readonly properties: Properties;
}

export const verbNames: ReadonlySet<string> = new Set(['$identify', '$create_alias', '$merge']);

type Verb =
  | { readonly kind: 'links'; readonly links: readonly Link[] }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly reason: string };

/** What an identity event of Mixpanel says; undefined for every other event. */
export function mixpanelVerb(name: string, source: Json): Verb | undefined {
  const verb = verbOf(name, source);
  return verb !== undefined && isFailedLink(source)
    ? { kind: 'skipped', reason: `${name} that Mixpanel marks as failed` }
    : verb;
}

function verbOf(name: string, source: Json): Verb | undefined {
  switch (name) {
    case '$identify':
      return isIdentify(source) ? link(name, '$identified_id', '$anon_id', '$anon_distinct_id', source) : undefined;
    case '$create_alias':
      return link(name, 'distinct_id', 'alias', 'alias', source);
    case '$merge':
      return mergeOf(source['$distinct_ids']);
    default:
      return undefined;
  }
}

/** An event that only happens to have the name is an event. */
function isIdentify(source: Json): boolean {
  return source['$identified_id'] !== undefined || source['$anon_id'] !== undefined;
}

function link(event: string, idKey: string, otherKey: string, property: string, source: Json): Verb {
  const id = plainIdOf(source[idKey]);
  const other = plainIdOf(source[otherKey]);
  if (id === undefined)
    return { kind: 'unreadable', reason: `${event}: expected ${idKey}, got ${kindOf(source[idKey])}` };
  if (other === undefined) {
    return { kind: 'unreadable', reason: `${event}: expected ${otherKey}, got ${kindOf(source[otherKey])}` };
  }
  return linked(event, id, [other], property);
}

/** `$merge` joins people whoever they are, as `$merge_dangerously` does here. */
function mergeOf(value: unknown): Verb {
  const ids = Array.isArray(value) ? (value as readonly unknown[]).map(plainIdOf) : [];
  const [id, ...others] = ids.filter((each) => each !== undefined);
  if (id === undefined || others.length === 0 || others.length + 1 !== ids.length) {
    return { kind: 'unreadable', reason: `$merge: expected two ids in $distinct_ids, got ${kindOf(value)}` };
  }
  return linked('$merge_dangerously', id, others, 'alias');
}

function linked(event: string, id: string, others: readonly string[], property: string): Verb {
  if (isNobody(id) || others.some(isNobody)) {
    return { kind: 'skipped', reason: `${event} with an id that means nobody` };
  }
  const useful = others.filter((other) => other !== id);
  if (useful.length === 0) return { kind: 'skipped', reason: `${event} of an id with itself` };
  return {
    kind: 'links',
    links: useful.map((other) => ({ event, distinctId: id, properties: { [property]: other } })),
  };
}
