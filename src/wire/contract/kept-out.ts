import { Type } from 'typebox';
import { erasedIdsMax } from './erasures.ts';

/** Ids that a project keeps out, as hashes by a key of the project. */
export interface KeptOutList {
  readonly hashKey: string;
  readonly hashes: readonly string[];
}

/** Ids of a project. Each pipeline has them in memory. */
export const keptOutMax = 200_000;

export const keptOutCountSchema = Type.Object({
  count: Type.Integer({ minimum: 0, description: 'Number of ids whose events are dropped.' }),
});

export const keptOutRemovalSchema = Type.Object({
  distinct_ids: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    minItems: 1,
    maxItems: erasedIdsMax,
    uniqueItems: true,
    description: 'distinct_ids whose events are stored again. Ids that are not on the list are ignored.',
  }),
});

export const keptOutRemovedSchema = Type.Object({
  removed: Type.Integer({ minimum: 0, description: 'Number of ids that were removed.' }),
  count: Type.Integer({ minimum: 0, description: 'Number of ids that remain.' }),
});
