import type { Page } from '../../../src/wire/contract/pagination.ts';
import type { ProjectRecord } from '../../../src/wire/contract/projects.ts';
import { apiQuery } from './queries.ts';

export type { ProjectRecord };

/** All projects the user can access. */
export const projectsQuery = apiQuery<Page<ProjectRecord>>('/api/projects', { limit: 1000 });
