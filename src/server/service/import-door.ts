/** What the process of imports asks of the main thread: the door. */
import type { Answers, Call } from '../../base/calls.ts';
import type { DoorAnswer, ProjectDoor } from '../../imports/targets/project-door.ts';

/** Whose door: of a project, for one run. */
export interface DoorOwner {
  readonly projectId: number;
  readonly runId: string;
}

/** The door of a project as the other process sees it. */
export function projectDoorOver(call: Call, owner: DoorOwner): ProjectDoor {
  const ask = async (way: keyof ProjectDoor, ...args: readonly unknown[]): Promise<DoorAnswer> =>
    (await call('door', owner, way, ...args)) as DoorAnswer;
  return {
    accept: (body, events) => ask('accept', body, events),
    admit: (events) => ask('admit', events),
    acceptFacts: (of, body, facts) => ask('acceptFacts', of, body, facts),
  };
}

/** The other end of `projectDoorOver`. */
export function answersOfDoors(doorOf: (owner: DoorOwner) => ProjectDoor): Answers {
  return {
    door: (owner: DoorOwner, way: keyof ProjectDoor, ...args: unknown[]) => {
      // The arguments were typed where projectDoorOver took them.
      const ask = doorOf(owner)[way] as (...args: readonly unknown[]) => Promise<DoorAnswer>;
      return ask(...args);
    },
  };
}
