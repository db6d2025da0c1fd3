import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';

const count = Type.Integer({ minimum: 0 });
const counts = Type.Record(Type.String(), count);

export const importUndoSchema = Type.Object({
  dry_run: Type.Optional(Type.Boolean({ description: 'Only says what would be taken back. Default: false.' })),
});

/** What taking back a run would do. */
export const importUndoPlanSchema = Type.Object({
  rows: Type.Integer({ minimum: 0, description: 'Of the run, with those that stand behind the same event of others.' }),
  events: Type.Integer({ minimum: 0, description: 'Events that reads show as those of the run.' }),
  by_name: counts,
  by_day: counts,
  distinct_ids: count,
  persons: orNull(count, 'Persons to be made anew; null: too many ids to look each of them up beforehand.'),
  groups: count,
  group_types: Type.Array(Type.String()),
  other_runs: Type.Array(
    Type.Object({
      id: Type.String(),
      state: Type.String(),
      days_in_common: orNull(count, 'Null: what it staged is removed.'),
      what: Type.Enum(['loads_again', 'at_work', 'not_complete', 'not_staged'], {
        description:
          '`loads_again`: it loads once more what only the undone run had stored. `at_work`: the undo waits for it. ' +
          '`not_complete`, `not_staged`: see `exceptions`.',
      }),
    }),
  ),
  exceptions: Type.Array(Type.String(), { description: 'What will not be as if the run had never been.' }),
});
export type ImportUndoPlan = Static<typeof importUndoPlanSchema>;
