/**
 * The slot of a project: a whole pipeline's share of the log, 0 … slots - 1. Stable for ever: records that wait in a log lie in
 * the slot that this said when they were appended. (The finalizer of MurmurHash3, so that ids that follow one another scatter.)
 */
export function slotOf(projectId: number, slots: number): number {
  let hash = projectId;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash ^= hash >>> 16;
  return (hash >>> 0) % slots;
}
