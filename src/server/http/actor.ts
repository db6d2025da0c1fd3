import type { Actor } from '../../stores/metadata/activity.ts';
import type { ApiRequest } from './api-route.ts';

/** Who makes a request, as the activity log names it. */
export function actorOf({ principal, requestId }: Pick<ApiRequest, 'principal' | 'requestId'>): Actor {
  const { organizationId, userId } = principal;
  return { organizationId, userId, keyId: principal.kind === 'key' ? principal.keyId : null, requestId };
}
