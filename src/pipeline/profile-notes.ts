import { noChanges } from './persons/registers.ts';
import type { EventDraft } from './event-draft.ts';

/** The part of an event that concerns persons and groups. */
export type ProfileDraft = Pick<
  EventDraft,
  'projectId' | 'distinctId' | 'micros' | 'uuid' | 'person' | 'groups' | 'warnings'
>;

interface Touch {
  readonly kind: 'touch';
  readonly projectId: number;
  readonly distinctId: string;
  /** Time of the earliest event. */
  micros: number;
}

interface Change {
  readonly kind: 'change';
  readonly draft: Omit<ProfileDraft, 'warnings'>;
  /** ms since the epoch. */
  readonly receivedAt: number;
}

export type ProfileNote = Readonly<Touch> | Change;

/**
 * Collects changes of a window to persons and groups that other slots change as well, in spread projects. They are applied in the
 * window's transaction (`writeNotedProfiles` in store-window.ts) to what the store contains then, so that nothing else of the window
 * has to be repeated when another slot was faster.
 */
export class ProfileNotes {
  #notes: (Touch | Change)[] = [];
  /** By project and id. Seeing an id again can only make its person older, wherever in the window it is noted. */
  #touched = new Map<number, Map<string, Touch>>();

  touch(projectId: number, distinctId: string, micros: number): void {
    const ids = this.#touched.get(projectId) ?? new Map<string, Touch>();
    this.#touched.set(projectId, ids);
    const known = ids.get(distinctId);
    if (known !== undefined) {
      known.micros = Math.min(known.micros, micros);
      return;
    }
    const touch: Touch = { kind: 'touch', projectId, distinctId, micros };
    ids.set(distinctId, touch);
    this.#notes.push(touch);
  }

  /** `receivedAt` in ms. */
  change(draft: ProfileDraft, receivedAt: number): void {
    const { projectId, distinctId, micros, uuid, person, groups } = draft;
    if (groups === null && person?.merge === null && person.changes === noChanges) {
      this.touch(projectId, distinctId, micros);
    } else if (groups !== null || person !== null) {
      const kept = { projectId, distinctId, micros, uuid, person, groups };
      this.#notes.push({ kind: 'change', draft: kept, receivedAt });
    }
  }

  take(): readonly ProfileNote[] {
    const taken = this.#notes;
    this.#notes = [];
    this.#touched = new Map();
    return taken;
  }
}

export function projectOf(note: ProfileNote): number {
  return note.kind === 'touch' ? note.projectId : note.draft.projectId;
}
