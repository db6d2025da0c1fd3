/** Events that are about persons or groups, whatever they say of a profile. */
export const profileEvents: ReadonlySet<string> = new Set([
  '$identify',
  '$create_alias',
  '$merge_dangerously',
  '$groupidentify',
  '$group_identify',
]);
