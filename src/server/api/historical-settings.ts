import {
  freeEventsInAll,
  freeEventsPerMinute,
  historicalSettingsSchema,
  type AgreementMode,
} from '../../wire/contract/historical-settings.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import { historicalTotal } from '../../stores/events/reads.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { findApprovedAgreement } from '../../stores/metadata/find-approved-agreement.ts';
import { fromStore } from './events.ts';

export interface HistoricalSettingsDeps {
  readonly db: Metadata;
  readonly store: EventStore;
  readonly agreementMode: AgreementMode;
}

/** Route of a project's current limits for historical events: the service's setting, usage, and the agreement in force. */
export function historicalSettingsRoutes({ db, store, agreementMode: mode }: HistoricalSettingsDeps): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/projects/:project_id/historical_migrations/settings',
      scope: 'historical_migration:read',
      tag: 'Historical migrations',
      summary: 'Retrieve the limits for historical events of a project',
      description:
        "Returns the mode, which is a setting of the service (MILLRACE_HISTORICAL_AGREEMENT), and the project's current limits.",
      responses: { 200: historicalSettingsSchema },
      handler: async (request) => {
        const { id } = request.project();
        const approved = await findApprovedAgreement(db, id);
        const speed = approved?.eventsPerSecond ?? freeEventsPerMinute / 60;
        return {
          status: 200,
          body: {
            mode,
            free_events_per_minute: freeEventsPerMinute,
            free_events_in_all: freeEventsInAll,
            historical_events: await fromStore(() => historicalTotal(store, id)),
            agreement_in_force: approved?.id ?? null,
            events_per_second: mode === 'required' ? speed : null,
            filed: await countFiled(db, id),
          },
        };
      },
    }),
  ];
}

async function countFiled(db: Metadata, projectId: number): Promise<number> {
  const { count } = await db
    .selectFrom('historical_migrations')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('project_id', '=', projectId)
    .where('state', '=', 'filed')
    .executeTakeFirstOrThrow();
  return Number(count);
}
