/** What the process of imports asks of the main thread: the door. */
import type { Answers, Call } from '../base/calls.ts';
import type { DoorAnswer, ProjectDoor } from '../imports/targets/project-door.ts';

/** Whose door: of a project, for one run. */
export interface DoorOwner {
  readonly projectId: number;
  readonly runId: string;
}

/** The door of a project as the other process sees it. */
export function projectDoorOver(call: Call, owner: DoorOwner): ProjectDoor {
  return { accept: async (body, events) => (await call('door', owner, body, events)) as DoorAnswer };
}

/** The other end of `projectDoorOver`. */
export function answersOfDoors(doorOf: (owner: DoorOwner) => ProjectDoor): Answers {
  return { door: (owner: DoorOwner, body: Uint8Array, events: number) => doorOf(owner).accept(body, events) };
}
