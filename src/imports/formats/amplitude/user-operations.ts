import { isObject } from '../../../base/json.ts';
import { setMember, type Json, type Properties } from '../read-values.ts';

/** What changes a property by the value that it has, which no event of an export says. */
const relative = ['$add', '$append', '$prepend', '$preInsert', '$postInsert', '$remove', '$clearAll'] as const;

/** Members of user_properties that are operations of the Identify API, and no properties. */
export const userOperations: readonly string[] = ['$set', '$setOnce', '$unset', ...relative];

/** User properties with their operations apart. */
export interface UserChanges {
  /** As they stand there, and those of `$set`. */
  readonly set: Json;
  readonly setOnce: Json;
  /** Names of those that are removed. */
  readonly unset: readonly string[];
  /** `$add logins`: operations that are not applied. */
  readonly notApplied: readonly string[];
}

export function userChanges(source: Json): UserChanges {
  if (!userOperations.some((operation) => source[operation] !== undefined)) {
    return { set: source, setOnce: {}, unset: [], notApplied: [] };
  }
  const set: Properties = {};
  for (const key of Object.keys(source)) if (!userOperations.includes(key)) setMember(set, key, source[key]);
  const given = source['$set'];
  if (isObject(given)) for (const key of Object.keys(given)) setMember(set, key, given[key]);
  const once = source['$setOnce'];
  return {
    set,
    setOnce: isObject(once) ? once : {},
    unset: namesIn(source['$unset']),
    notApplied: relative.flatMap((operation) => {
      const of = source[operation];
      return of === undefined
        ? []
        : operation === '$clearAll'
          ? [operation]
          : namesIn(of).map((name) => `${operation} ${name}`);
    }),
  };
}

function namesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.filter((name) => typeof name === 'string');
  return isObject(value) ? Object.keys(value) : [];
}
