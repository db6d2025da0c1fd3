/** Events that may make one person of two, each with the property that holds the other id. */
export const otherIdOf: ReadonlyMap<string, string> = new Map([
  ['$identify', '$anon_distinct_id'],
  ['$create_alias', 'alias'],
  ['$merge_dangerously', 'alias'],
]);

/** Their names. Which of two is decided first matters: a device belongs to its first user. */
export const mergeEvents: ReadonlySet<string> = new Set(otherIdOf.keys());

/** Events that are about a group, under both of their names: client libraries say one, the documentation the other. */
export const groupEvents: ReadonlySet<string> = new Set(['$groupidentify', '$group_identify']);

/** Events that are about persons or groups, whatever they say of a profile. */
export const profileEvents: ReadonlySet<string> = new Set([...mergeEvents, ...groupEvents]);

/** Events that technical code sends in a person's name: they say nothing about the person. */
export const saysNothing: ReadonlySet<string> = new Set(['$exception']);
