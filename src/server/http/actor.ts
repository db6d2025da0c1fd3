import type { Actor } from '../../stores/metadata/activity.ts';
import { systemActor } from '../../stores/metadata/record-change.ts';
import type { ApiRequest } from './api-route.ts';

/** The principal of a request, for the activity log. */
export function actorOf({ principal, requestId }: Pick<ApiRequest, 'principal' | 'requestId'>): Actor {
  const { organizationId, userId } = principal;
  if (principal.kind === 'operator') return systemActor(organizationId);
  return { organizationId, userId, keyId: principal.kind === 'key' ? principal.keyId : null, requestId };
}
