import type { UserRecord } from '../../../src/wire/contract/users.ts';
import { apiQuery } from './queries.ts';

export const usersPath = '/api/users';
/** Everybody of the organisation. */
export const usersQuery = apiQuery<readonly UserRecord[]>(usersPath);
