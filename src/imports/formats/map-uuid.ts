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

function ofParts({ namespace, parts, mayBeUuid, otherwise }: Extract<UuidRule, { is: 'parts' }>): MakeUuid {
  const uuidOf = createUuids(namespace);
  const [first, ...rest] = parts.map(partReader);
  return (draft) => {
    let text = first?.(draft);
    const own = mayBeUuid === true ? canonicalUuid(text) : undefined;
    if (own !== undefined) return own;
    for (const part of rest) {
      const piece = part(draft);
      if (text === undefined || piece === undefined) return otherwise(draft);
      text += piece;
    }
    return text === undefined ? otherwise(draft) : uuidOf(text);
  };
}

function partReader(part: IdPart): (draft: Draft) => string | undefined {
  if (part === 'time') return ({ timestamp }) => timestamp;
  if (part === 'name') return ({ name }) => name;
  if (part === 'distinct_id') return ({ identity }) => identity.distinctId;
  if ('text' in part) return () => part.text;
  if ('read' in part) return ({ record }) => part.read(record);
  const valueOf = memberAt(part.path);
  const isNeeded = part.isNeeded === true;
  return ({ record }) => idOf(valueOf(record)) ?? (isNeeded ? undefined : '');
}
