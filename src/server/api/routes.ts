import type { Clock } from '../../base/clock.ts';
import type { Door } from '../../wire/batch/door.ts';
import type { AgreementMode } from '../../wire/contract/historical-settings.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import type { ApiRoute } from '../http/api-route.ts';
import type { LiveHub } from '../../pipeline/live/hub.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { PrepareDeps } from '../../plugins/packages/prepare-plugin.ts';
import type { PluginRegistry } from '../../plugins/plugin-registry.ts';
import { personByUuid, personsByDistinctIds } from '../../pipeline/persons/read-persons.ts';
import { serviceTrialDeps, type TrialSource } from '../../pipeline/transform/trial-deps.ts';
import { activityLogRoutes } from './activity-log.ts';
import { deadLetterReplayRoutes } from './dead-letter-replays.ts';
import { deadLetterTrialRoutes } from './dead-letter-trials.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { eventRoutes } from './events.ts';
import { groupRoutes } from './groups.ts';
import { historicalMigrationRoutes } from './historical-migrations.ts';
import { historicalSettingsRoutes } from './historical-settings.ts';
import { listConfigs } from '../../plugins/configs/stored-config.ts';
import { importedEventsRoutes } from './imported-counts.ts';
import { importFormatRoutes } from './import-formats.ts';
import { importPreviewRoutes } from './import-preview.ts';
import { importRunRoutes } from './import-runs.ts';
import type { ImportPlaces } from './import-runs-deps.ts';
import { ingestionWarningRoutes } from './ingestion-warnings.ts';
import { definitionRoutes } from './definitions.ts';
import { flatEventRoutes } from './flat-events.ts';
import { nameRoutes, rememberNames } from './names.ts';
import { organizationRoutes } from './organizations.ts';
import { noticeDestinationRoutes } from './notice-destinations.ts';
import { liveEventRoutes } from './live-events.ts';
import { jobRoutes } from './jobs.ts';
import { openApiRoutes } from './openapi.ts';
import { personRoutes } from './persons.ts';
import { personalApiKeyRoutes } from './personal-api-keys.ts';
import { pluginConfigViewRoutes } from './plugin-config-view.ts';
import { pluginConfigRoutes } from './plugin-configs.ts';
import { pluginRoutes } from './plugins.ts';
import { projectRoutes } from './projects.ts';
import { statusRoutes, type StatusSource } from './status.ts';
import { scopeCatalogueRoutes } from './scope-catalogue.ts';
import { sampleEventRoutes } from './sample-events.ts';
import { transformationTestRoutes } from './transformation-tests.ts';
import { usageRoutes } from './usage.ts';
import { currentUserRoutes } from './current-user.ts';
import { userKeyRoutes } from './user-keys.ts';
import { userSessionRoutes } from './user-sessions.ts';
import { userRoutes } from './users.ts';

export interface ApiDeps {
  readonly db: Metadata;
  readonly store: EventStore;
  readonly door: Door;
  readonly clock: Clock;
  /** Where readers of the live stream ask. */
  readonly live: LiveHub;
  readonly status: StatusSource;
  readonly registry: PluginRegistry;
  /** What installing plugins needs. */
  readonly packages: PrepareDeps;
  /** Where the files of imports lie. Undefined: this process has none; what needs them answers 503. */
  readonly imports?: ImportPlaces | undefined;
  /** What trying transformations needs. */
  readonly trials: TrialSource;
  /** Largest event that the pipeline takes, in bytes of JSON. */
  readonly eventBytesMax: number;
  readonly forgetKey: (keyId: string) => void;
  readonly agreementMode: AgreementMode;
  readonly forgetUser: (userId: number) => void;
  readonly forgetProject: (projectId: number) => void;
}

async function countActive({ db, clock }: Pick<ApiDeps, 'db' | 'clock'>, projectId: number): Promise<number> {
  const configs = await listConfigs(db, { projectId, family: 'transformation', now: clock.now() });
  return configs.filter(({ enabled }) => enabled).length;
}

/** Every operation of the management API, its own description included. */
export function apiRoutes(deps: ApiDeps): ApiRoute[] {
  const { db, store } = deps;
  const trials = serviceTrialDeps(db, deps.trials);
  const persons = {
    byDistinctIds: (projectId: number, ids: readonly string[]) => personsByDistinctIds(db, projectId, ids),
    byUuid: (projectId: number, uuid: string) => personByUuid(db, projectId, uuid),
  };
  const names = rememberNames(deps);
  const routes = [
    ...projectRoutes(deps),
    ...currentUserRoutes(deps),
    ...organizationRoutes(deps),
    ...userRoutes(deps),
    ...userSessionRoutes(deps),
    ...personalApiKeyRoutes(deps),
    ...userKeyRoutes(deps),
    ...scopeCatalogueRoutes(),
    ...pluginRoutes(deps),
    ...pluginConfigRoutes(deps),
    ...pluginConfigViewRoutes(deps),
    ...importRunRoutes(deps),
    ...importFormatRoutes(deps),
    ...importPreviewRoutes(deps),
    ...transformationTestRoutes({ ...deps, trials }),
    ...sampleEventRoutes(deps),
    ...jobRoutes(deps),
    ...activityLogRoutes(deps),
    ...eventRoutes({ store, persons }),
    ...flatEventRoutes({ db, store, persons }),
    ...nameRoutes(names),
    ...definitionRoutes(names),
    ...noticeDestinationRoutes(deps),
    ...liveEventRoutes(deps),
    ...statusRoutes(deps),
    ...importedEventsRoutes({ store, activeTransformations: (projectId) => countActive(deps, projectId) }),
    ...usageRoutes({ store }),
    ...personRoutes(deps),
    ...groupRoutes({ db }),
    ...ingestionWarningRoutes(deps),
    ...deadLetterRoutes(deps),
    ...deadLetterReplayRoutes(deps),
    ...deadLetterTrialRoutes({ ...deps, trials }),
    ...historicalMigrationRoutes(deps),
    ...historicalSettingsRoutes(deps),
  ];
  return [...routes, ...openApiRoutes(routes)];
}
