/** The metadata store, ready for use: claimed, migrated, and filled with what every installation has. */
import type { Clock } from '../../base/clock.ts';
import type { Settings } from '../config/settings.ts';
import type { HealthResult } from '../http/health.ts';
import { bootstrap, type Bootstrapped } from '../../stores/metadata/bootstrap.ts';
import { claimDatabase, type DatabaseClaim } from '../../stores/metadata/claim-database.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { migrate } from '../../stores/metadata/migrate.ts';
import type { Dialect } from '../../stores/metadata/migrations/migration.ts';
import { makeSlots } from '../../stores/metadata/slot-leases.ts';
import { deleteExpiredSessions } from '../../stores/metadata/sessions.ts';
import { unfinishedMove } from '../../stores/move/unfinished-move.ts';
import { builtInPlugins } from '../../plugins/built-in/registry.ts';
import { syncPlugins } from '../../plugins/built-in/sync-plugins.ts';
import type { Log } from '../telemetry/log.ts';
import { isCluster } from './roles.ts';
import { connectionsPerThread, openMetadata } from './stores.ts';

/** What lies in the store is not whole yet. */
export class MoveUnderWayError extends Error {
  override name = 'MoveUnderWayError';
  constructor() {
    super(
      'expected a database that is ready for use, got one that "millrace move" has begun to fill; run the same move again to the end',
    );
  }
}

type MetadataDeps = { readonly settings: Settings; readonly log: Log; readonly clock: Clock };

export interface ClaimedMetadata {
  readonly db: Metadata;
  readonly dialect: Dialect;
  readonly health: () => Promise<HealthResult>;
}

/** `parts` takes what has to be stopped. */
export async function claimMetadata(
  { settings, log }: MetadataDeps,
  parts: AsyncDisposableStack,
): Promise<ClaimedMetadata> {
  const { db, dialect } = await openMetadata(settings, log, connectionsPerThread(settings));
  parts.defer(() => db.destroy());
  const sharing = isCluster(settings) ? 'together' : 'alone';
  const claim = dialect === 'postgres' ? await claimDatabase(db, { log, sharing }) : undefined;
  parts.defer(() => claim?.release());
  return { db, dialect, health: () => metadataHealth(db, claim) };
}

/** The tables of this program, and what every installation has. */
export async function prepareMetadata(
  { settings, clock }: MetadataDeps,
  { db, dialect }: ClaimedMetadata,
): Promise<Bootstrapped> {
  if (dialect === 'postgres' && (await unfinishedMove(db)) !== undefined) throw new MoveUnderWayError();
  await migrate(db, dialect);
  // Here, so that a process with another number of them ends with a sentence before it works.
  if (isCluster(settings)) await makeSlots(db, settings.slots);
  const now = clock.now();
  const first = await bootstrap(db, {
    now,
    personalApiKey: settings.bootstrapPersonalApiKey || undefined,
    projectApiKey: settings.bootstrapProjectApiKey || undefined,
  });
  await syncPlugins(db, builtInPlugins, now);
  await deleteExpiredSessions(db, now);
  return first;
}

async function metadataHealth(db: Metadata, claim: DatabaseClaim | undefined): Promise<HealthResult> {
  if (claim?.held() === false) {
    const detail = 'The connection that keeps other services from this database is lost; it is being made again.';
    return { ok: false, detail };
  }
  const rows = await db.selectFrom('config_revisions').select('id').execute();
  return { ok: rows.length > 0 };
}
