import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';

const count = Type.Integer({ minimum: 0 });
const counts = Type.Record(Type.String(), count);

export const importUndoSchema = Type.Object({
  dry_run: Type.Optional(Type.Boolean({ description: 'True only reports what would be undone. Default false.' })),
});

/** What undoing a run would do. */
export const importUndoPlanSchema = Type.Object({
  rows: Type.Integer({
    minimum: 0,
    description: "Stored rows of the run, including duplicates of other runs' events.",
  }),
  events: Type.Integer({ minimum: 0, description: 'Events that reads return as those of the run.' }),
  by_name: counts,
  by_day: counts,
  distinct_ids: count,
  persons: orNull(count, 'Persons to rebuild. Null if there are too many ids to count them beforehand.'),
  groups: count,
  group_types: Type.Array(Type.String()),
  other_runs: Type.Array(
    Type.Object({
      id: Type.String(),
      state: Type.String(),
      days_in_common: orNull(count, 'Days with events of both runs. Null if the staged data was removed.'),
      what: Type.Enum(['loads_again', 'at_work', 'not_complete', 'not_staged'], {
        description:
          '`loads_again`: it reloads events that only the undone run had stored. `at_work`: the undo waits for it. ' +
          '`not_complete`, `not_staged`: see `exceptions`.',
      }),
    }),
  ),
  exceptions: Type.Array(Type.String(), { description: 'What the undo cannot restore.' }),
});
export type ImportUndoPlan = Static<typeof importUndoPlanSchema>;
