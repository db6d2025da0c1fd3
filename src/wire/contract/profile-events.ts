/** Events that may merge two persons, with the property that contains the other id. */
export const otherIdOf: ReadonlyMap<string, string> = new Map([
  ['$identify', '$anon_distinct_id'],
  ['$create_alias', 'alias'],
  ['$merge_dangerously', 'alias'],
]);

/** Names of merging events. The order of decisions matters: a device belongs to its first user. */
export const mergeEvents: ReadonlySet<string> = new Set(otherIdOf.keys());

/** Group events, under both names: client libraries use one, the documentation the other. */
export const groupEvents: ReadonlySet<string> = new Set(['$groupidentify', '$group_identify']);

/** Events about persons or groups. */
export const profileEvents: ReadonlySet<string> = new Set([...mergeEvents, ...groupEvents]);

/** Events sent by technical code on behalf of a person, which contain nothing about the person. */
export const withoutPersonChanges: ReadonlySet<string> = new Set(['$exception']);
