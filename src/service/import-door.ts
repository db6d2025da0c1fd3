/** What the thread of imports asks of the main thread: the door. */
import type { Answers, Call } from '../base/calls.ts';
import type { DoorAnswer, ProjectDoor } from '../imports/targets/project-door.ts';

/** Whose door: of a project, for one run. */
export interface DoorOwner {
  readonly projectId: number;
  readonly runId: string;
}

/** The door of a project as the other thread sees it. The body's memory moves; the caller's view is empty afterwards. */
export function projectDoorOver(call: Call, owner: DoorOwner): ProjectDoor {
  return { accept: async (body, events) => (await call('door', owner, body, events)) as DoorAnswer };
}

/** The other end of `projectDoorOver`. */
export function answersOfDoors(doorOf: (owner: DoorOwner) => ProjectDoor): Answers {
  return { door: (owner: DoorOwner, body: Uint8Array, events: number) => doorOf(owner).accept(body, events) };
}

/** The memory in a message of `projectDoorOver` that can move instead of being copied: bodies that have one of their own. */
export function movableMemory(message: unknown): ArrayBuffer[] {
  const { call } = message as { readonly call?: { readonly args: readonly unknown[] } };
  return (call?.args ?? []).flatMap((each) => {
    if (!(each instanceof Uint8Array) || !(each.buffer instanceof ArrayBuffer)) return [];
    // Small buffers share their memory with strangers.
    const isOwn = each.byteLength === each.buffer.byteLength && each.byteLength > Buffer.poolSize;
    return isOwn ? [each.buffer] : [];
  });
}
