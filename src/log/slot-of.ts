/**
 * Returns the slot of a project, 0 … slots - 1. Must never change: records wait in the slot that was returned when they were
 * appended. (The finalizer of MurmurHash3, so that consecutive ids scatter.)
 */
export function slotOf(projectId: number, slots: number): number {
  return scattered(projectId) % slots;
}

/** Returns the slot of a part of a spread project: the first part stays in the project's slot, the others follow. */
export function slotOfPart(projectId: number, part: number, slots: number): number {
  return (slotOf(projectId, slots) + part) % slots;
}

/** Returns whether the slot is one of the `spread` slots of a project. */
export function hasPart(slot: number, { projectId, spread }: SpreadProject, slots: number): boolean {
  return (slot - slotOf(projectId, slots) + slots) % slots < spread;
}

export interface SpreadProject {
  readonly projectId: number;
  readonly spread: number;
}

/**
 * Returns the part of a distinct id, 0 … spread - 1. An additional part only moves ids into it (Lamping and Veach: A Fast, Minimal
 * Memory, Consistent Hash Algorithm); the multiplications are exact in doubles of 53 bits.
 */
export function partOf(distinctId: string, spread: number): number {
  let key = scattered(hashOf(distinctId));
  let part = 0;
  for (let next = 0; next < spread;) {
    part = next;
    key = (Math.imul(key, 1_664_525) + 1_013_904_223) >>> 0;
    next = Math.floor(((part + 1) * 0x1_0000_0000) / (scattered(key) + 1));
  }
  return part;
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

function scattered(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
