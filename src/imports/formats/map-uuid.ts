import { canonicalJson } from '../../base/canonical-json.ts';
import { canonicalUuid } from '../../base/uuids.ts';
import { createUuids, partsSeparator } from './derived-uuids.ts';
import type { NoEvents } from './event-writer.ts';
import { memberAt } from './member-at.ts';
import type { IdCounter } from './occurrences.ts';
import { idOf } from './read-values.ts';
import type { ContentUuid, Draft, IdPart, MakeUuid, UuidRule } from './record-map.ts';

/** How the uuid of an event is made by its rule. */
export function uuidMaker(rule: UuidRule): MakeUuid {
  switch (rule.is) {
    case 'uuid': {
      const valueOf = memberAt(rule.path);
      return (draft) => canonicalUuid(valueOf(draft.record)) ?? rule.otherwise(draft);
    }
    case 'name':
      return ofName(rule);
    case 'content':
      return ofContent(rule);
    case 'parts':
      return ofParts(rule);
  }
}

function ofName(rule: Extract<UuidRule, { is: 'name' }>): MakeUuid {
  const { namespace, occurrences, repeated, otherwise, idOf: read = idOf } = rule;
  const valueOf = memberAt(rule.path);
  const uuidOf = counted(namespace, occurrences, repeated);
  const withoutId = typeof otherwise === 'function' ? otherwise : ofContent(otherwise);
  return (draft) => {
    const id = read(valueOf(draft.record));
    return id === undefined ? withoutId(draft) : uuidOf(id);
  };
}

function ofContent({ namespace, occurrences, repeated, textOf = canonicalJson }: ContentUuid): MakeUuid {
  const uuidOf = counted(namespace, occurrences, repeated);
  return ({ record }) => uuidOf(textOf(record));
}

/** The first of a text follows from it, later ones from it and their number. */
function counted(
  namespace: Uint8Array,
  occurrences: IdCounter | undefined,
  repeated: NoEvents | undefined,
): (text: string) => string | NoEvents {
  const uuidOf = createUuids(namespace);
  return (text) => {
    const first = uuidOf(text);
    const occurrence = occurrences?.next(first) ?? 1;
    return occurrence === 1 ? first : (repeated ?? uuidOf(`${text}${partsSeparator}${occurrence}`));
  };
}

function ofParts({ namespace, parts, mayBeUuid = 0, otherwise }: Extract<UuidRule, { is: 'parts' }>): MakeUuid {
  const uuidOf = createUuids(namespace);
  const readers = parts.map(partReader);
  const given = readers.slice(0, mayBeUuid);
  const derived = readers.slice(mayBeUuid);
  return (draft) => {
    const id = joined(given, draft);
    if (id === undefined) return otherwise(draft);
    const own = mayBeUuid === 0 ? undefined : canonicalUuid(id);
    if (own !== undefined) return own;
    const rest = joined(derived, draft);
    return rest === undefined ? otherwise(draft) : uuidOf(id + rest);
  };
}

type ReadPart = (draft: Draft) => string | undefined;

function partReader(part: IdPart): ReadPart {
  if (part === 'time') return ({ timestamp }) => timestamp;
  if ('text' in part) return () => part.text;
  if ('read' in part) return ({ record }) => part.read(record);
  const valueOf = memberAt(part.path);
  const isNeeded = part.isNeeded === true;
  return ({ record }) => idOf(valueOf(record)) ?? (isNeeded ? undefined : '');
}

function joined(parts: readonly ReadPart[], draft: Draft): string | undefined {
  let text = '';
  for (const part of parts) {
    const piece = part(draft);
    if (piece === undefined) return undefined;
    text += piece;
  }
  return text;
}
