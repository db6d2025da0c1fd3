import type {
  DeliveryRecord,
  DestinationKind,
  DestinationRecord,
  NewDestinationRecord,
} from '../../../../src/wire/contract/notices.ts';
import { apiQuery, projectPath } from '../../api/queries.ts';
import { request } from '../../api/request.ts';

export type Destination = DestinationRecord;
export type NewDestination = NewDestinationRecord;
export type Kind = DestinationKind;

/** A test is attempted once, within seconds. */
const pollsMax = 100;
const pollMs = 500;

export const destinationsPath = (projectId: number): string => projectPath(projectId, 'notice_destinations');

export function destinationsQuery(projectId: number) {
  return apiQuery<{ readonly results: readonly Destination[] }>(destinationsPath(projectId), { limit: 1000 });
}

export interface DestinationFields {
  readonly name: string;
  readonly kind: Kind;
  readonly url?: string;
  readonly to?: readonly string[];
}

export function createDestination(projectId: number, body: DestinationFields): Promise<NewDestination> {
  return request<NewDestination>(destinationsPath(projectId), { method: 'POST', body });
}

export function switchDestination(projectId: number, id: string, enabled: boolean): Promise<Destination> {
  return request<Destination>(`${destinationsPath(projectId)}/${id}`, { method: 'PATCH', body: { enabled } });
}

export async function deleteDestination(projectId: number, id: string): Promise<void> {
  await request(`${destinationsPath(projectId)}/${id}`, { method: 'DELETE' });
}

/** Sends a test notification and waits for the outcome. @throws Error with the reason when the delivery failed */
export async function sendTest(projectId: number, id: string): Promise<void> {
  const path = `${destinationsPath(projectId)}/${id}`;
  let delivery = await request<DeliveryRecord>(`${path}/test`, { method: 'POST', body: {} });
  for (let polls = 0; polls < pollsMax && !isEnded(delivery); polls += 1) {
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    delivery = await request<DeliveryRecord>(`${path}/deliveries/${delivery.id}`);
  }
  if (delivery.state === 'sent') return;
  throw new Error(delivery.error === '' ? 'The service has not sent it yet.' : delivery.error);
}

function isEnded({ state }: DeliveryRecord): boolean {
  return state === 'sent' || state === 'failed';
}
