import { Type, type Static, type TSchema } from 'typebox';
import { orNull } from './or-null.ts';

/** Background tasks of a project: exports, replays, erasures. Each kind adds what is requested, its progress and its result. */

export interface TaskSchemas<Spec extends TSchema, Progress extends TSchema, Result extends TSchema> {
  readonly spec: Spec;
  readonly progress: Progress;
  readonly result: Result;
}

export function taskSchema<Spec extends TSchema, Progress extends TSchema, Result extends TSchema>(
  schemas: TaskSchemas<Spec, Progress, Result>,
) {
  return Type.Object({
    ...taskFields,
    request: schemas.spec,
    progress: orNull(schemas.progress, 'Null until the first step is completed.'),
    result: orNull(schemas.result, 'Null until the task is done.'),
  });
}

const taskFields = {
  id: Type.String({ format: 'uuid' }),
  state: Type.Enum(['queued', 'running', 'done', 'failed', 'cancelled']),
  error: Type.String({ description: 'Why it failed or is being retried. Empty otherwise.' }),
  created_at: Type.String({ format: 'date-time' }),
  started_at: orNull(Type.String({ format: 'date-time' }), 'Null while it is queued.'),
  ended_at: orNull(Type.String({ format: 'date-time' }), 'Null until it has ended.'),
};

const common = Type.Object(taskFields);
/** A task of any kind. */
export type TaskRecord = Static<typeof common> & {
  readonly request: unknown;
  readonly progress: unknown;
  readonly result: unknown;
};
