/** Lets runs attach to a project one after the other, so that each sees what the previous one stored. */
export type AttachTurns = <Result>(projectId: number, work: () => Promise<Result>) => Promise<Result>;

/** Creates the turns for all runs of a process. */
export function createAttachTurns(): AttachTurns {
  /** The last requested work per project. */
  const last = new Map<number, Promise<unknown>>();
  return async (projectId, work) => {
    const before = last.get(projectId) ?? Promise.resolve();
    const result = before.then(work, work);
    last.set(projectId, result);
    try {
      return await result;
    } finally {
      if (last.get(projectId) === result) last.delete(projectId);
    }
  };
}
