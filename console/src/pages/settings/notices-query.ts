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

/** A test is tried once, within seconds. */
const looksMax = 100;
const lookMs = 500;

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

/** Resolves when it is known what became of it. Throws an Error that says why it did not arrive. */
export async function sendTest(projectId: number, id: string): Promise<void> {
  const path = `${destinationsPath(projectId)}/${id}`;
  let delivery = await request<DeliveryRecord>(`${path}/test`, { method: 'POST', body: {} });
  for (let looks = 0; looks < looksMax && !isEnded(delivery); looks += 1) {
    await new Promise((resolve) => setTimeout(resolve, lookMs));
    delivery = await request<DeliveryRecord>(`${path}/deliveries/${delivery.id}`);
  }
  if (delivery.state === 'sent') return;
  throw new Error(delivery.error === '' ? 'No process of the service has sent it yet.' : delivery.error);
}

function isEnded({ state }: DeliveryRecord): boolean {
  return state === 'sent' || state === 'failed';
}
