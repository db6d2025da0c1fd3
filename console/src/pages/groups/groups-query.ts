import type { Static } from 'typebox';
import type { GroupRecord, groupTypeSchema } from '../../../../src/wire/contract/groups.ts';
import { apiPages, apiQuery, projectPath } from '../../api/queries.ts';

export type Group = GroupRecord;
export type GroupType = Static<typeof groupTypeSchema>;

export function groupTypesQuery(projectId: number) {
  return apiQuery<readonly GroupType[]>(projectPath(projectId, 'groups_types'));
}

export function groupPages(projectId: number, type: number, search: string | undefined) {
  return apiPages<Group>(projectPath(projectId, 'groups'), { group_type_index: type, search });
}

export function groupQuery(projectId: number, type: number, key: string) {
  return apiQuery<Group>(projectPath(projectId, 'groups/find'), { group_type_index: type, group_key: key });
}
