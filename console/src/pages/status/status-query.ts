import type { ServiceStatus } from '../../../../src/wire/contract/status.ts';
import { apiQuery } from '../../api/queries.ts';

export type Status = ServiceStatus;

/** Admins only. */
export const statusQuery = apiQuery<Status>('/api/status');
