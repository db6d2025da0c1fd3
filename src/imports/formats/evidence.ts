import type { NoteCode } from './record-notes.ts';

/**
 * The rules of a format that decide about numbers and people, and what each of them rests on.
 *
 * - `times`: which time an event gets
 * - `zone`: zone and unit of it
 * - `ids`: what the uuid follows from
 * - `links`: who is the person, and which ids become one
 * - `counts`: what is repeated, skipped or missing
 */
export const evidenceKinds = ['times', 'zone', 'ids', 'links', 'counts'] as const;
export type EvidenceKind = (typeof evidenceKinds)[number];

export type Evidence = Readonly<Record<EvidenceKind, EvidencedRule>>;

export type EvidencedRule = { readonly rule: string } & (
  | {
      /** Pages of the vendor, or files of its repository. */
      readonly sources: readonly [string, ...string[]];
      /** Where the vendor leaves two ways: the option that decides. */
      readonly option?: string;
    }
  /** No statement by the vendor: an option decides, and the check warns where nothing was given. */
  | { readonly option: string; readonly note: NoteCode }
  /** No statement by the vendor, and no choice either: why nothing can get lost or be counted twice by it. */
  | { readonly because: string }
);
