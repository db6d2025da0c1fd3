/** Events that may make one person of two. Which of two is decided first matters: a device belongs to its first user. */
export const mergeEvents: ReadonlySet<string> = new Set(['$identify', '$create_alias', '$merge_dangerously']);

/** Events that are about persons or groups, whatever they say of a profile. */
export const profileEvents: ReadonlySet<string> = new Set([...mergeEvents, '$groupidentify', '$group_identify']);
