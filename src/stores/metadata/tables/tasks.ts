import { integer, table, text } from './table.ts';

export const taskStates = ['queued', 'running', 'done', 'failed', 'cancelled'] as const;
export type TaskState = (typeof taskStates)[number];

/** Background work on a project's data that a user started; leased. queue/tasks/task.ts has the states. */
export const taskTables = {
  tasks: table(
    {
      id: text().key(),
      /** Without a foreign key, so that a task can outlive its project. */
      project_id: integer(),
      /** Name of a TaskKind, such as `export`. */
      kind: text(),
      state: text<TaskState>(),
      /** JSON: what was requested. */
      spec: text(),
      /** JSON: name → text, such as keys of a bucket; never shown, and cleared when the task ends. */
      secrets: text(),
      /** JSON: where a worker resumes. Null until it is first saved. */
      progress: text().nullable(),
      /** JSON. Null until the task is done. */
      result: text().nullable(),
      /** Why it failed or is being retried. Empty otherwise. */
      error: text(),
      /** Increases with every claim: the fence against a worker that has lost the task. */
      attempts: integer(),
      lease_until: text().nullable(),
      /** Id of the user; null for the service itself. */
      created_by: integer().nullable(),
      created_at: text(),
      started_at: text().nullable(),
      ended_at: text().nullable(),
    },
    {
      indexes: {
        tasks_by_state: ['kind', 'state', 'created_at'],
        tasks_by_project: ['project_id', 'kind', 'created_at'],
      },
    },
  ),
  /** Keys that sign what projects declare: certificates of erasures. */
  signing_keys: table({
    project_id: integer().key().partOf('projects.id'),
    /** PKCS #8 as PEM; never shown. */
    private_key: text(),
    created_at: text(),
  }),
};
