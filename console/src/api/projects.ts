import type { Page } from '../../../src/wire/contract/pagination.ts';
import type { ProjectRecord } from '../../../src/wire/contract/projects.ts';
import { apiQuery } from './queries.ts';

export type { ProjectRecord };

/** Every project that the user may see. */
export const projectsQuery = apiQuery<Page<ProjectRecord>>('/api/projects', { limit: 1000 });
