import type { PlainIdPart, PlainUuid } from './plain-table.ts';
import { textAnswer } from './answers.ts';
import type { Variable } from './machine.ts';
import { membersAsked, placeOf, type Writing } from './writing.ts';

/** As in assembly/convert/uuids.ts. */
const uuidKinds = { uuid: 0, name: 1, content: 2, parts: 3, nameOrContent: 4 } as const;
const partMemos = 1024;

/** What the UUIDs of records are made of, in the machine's memory. */
export function writeUuid(writing: Writing, uuid: PlainUuid): void {
  const { machine, compiled } = writing;
  if (uuid.is === 'content') return machine.set({ uuidKind: uuidKinds.content, ...contentSpace(writing, uuid) });
  if (uuid.is === 'parts') return writeParts(writing, uuid);
  const uuidMember = compiled.memberOf(uuid.path);
  if (uuid.is === 'uuid') return machine.set({ uuidKind: uuidKinds.uuid, uuidMember });
  const { namespace, occurrences, otherwise } = uuid;
  machine.set({
    uuidKind: otherwise === undefined ? uuidKinds.name : uuidKinds.nameOrContent,
    uuidMember,
    ...nameSpace(writing, namespace),
    ...(otherwise && contentSpace(writing, otherwise)),
    countsNames: Number(occurrences !== undefined),
  });
}

type Variables = Partial<Record<Variable, number>>;

function nameSpace({ room }: Writing, namespace: Uint8Array): Variables {
  const { from, bytes } = room.putBytes(namespace);
  return { nameSpace: from, nameSpaceBytes: bytes };
}

function contentSpace({ room }: Writing, { namespace }: { readonly namespace: Uint8Array }): Variables {
  const { from, bytes } = room.putBytes(namespace);
  return { contentSpace: from, contentSpaceBytes: bytes };
}

function writeParts(writing: Writing, { namespace, parts, mayBeUuid = 0 }: Extract<PlainUuid, { is: 'parts' }>): void {
  const { machine, room } = writing;
  machine.set({
    uuidKind: uuidKinds.parts,
    uuidPartCount: parts.length,
    uuidPartsGiven: mayBeUuid,
    ...nameSpace(writing, namespace),
    uuidParts: room.putWords(parts.flatMap((part) => partWords(writing, part))),
  });
}

/** As `Part` in assembly/convert/uuids.ts. */
function partWords({ room, compiled, memos, answers }: Writing, part: PlainIdPart): number[] {
  if (part === 'time') return [0, 0, 0];
  if ('text' in part) return [1, ...placeOf(room.putText(part.text))];
  if ('path' in part) return [2, compiled.memberOf(part.path), Number(part.isNeeded === true)];
  return [3, memos.add(partMemos, membersAsked(compiled, part.from), textAnswer(answers, part.make)), 0];
}
