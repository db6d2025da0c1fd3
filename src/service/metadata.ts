/** The metadata store, ready for use: claimed, migrated, and filled with what every installation has. */
import type { Clock } from '../base/clock.ts';
import type { Settings } from '../config/settings.ts';
import type { HealthResult } from '../http/health.ts';
import { bootstrap, type Bootstrapped } from '../metadata/bootstrap.ts';
import { claimDatabase, type DatabaseClaim } from '../metadata/claim-database.ts';
import type { Metadata } from '../metadata/database.ts';
import { migrate } from '../metadata/migrate.ts';
import { deleteExpiredSessions } from '../metadata/sessions.ts';
import { builtInPlugins } from '../plugins/built-in/registry.ts';
import { syncPlugins } from '../plugins/built-in/sync-plugins.ts';
import type { Log } from '../telemetry/log.ts';
import { openMetadata } from './stores.ts';

export interface StartedMetadata {
  readonly db: Metadata;
  readonly first: Bootstrapped;
  readonly health: () => Promise<HealthResult>;
}

/** `parts` takes what has to be stopped. */
export async function startMetadata(
  { settings, log, clock }: { readonly settings: Settings; readonly log: Log; readonly clock: Clock },
  parts: AsyncDisposableStack,
): Promise<StartedMetadata> {
  const { db, dialect } = await openMetadata(settings, log);
  parts.defer(() => db.destroy());
  // A data directory is claimed by the event log in it.
  const claim = dialect === 'postgres' ? await claimDatabase(db, { log }) : undefined;
  parts.defer(() => claim?.release());
  await migrate(db, dialect);
  const now = clock.now();
  const first = await bootstrap(db, {
    now,
    personalApiKey: settings.bootstrapPersonalApiKey || undefined,
    projectApiKey: settings.bootstrapProjectApiKey || undefined,
  });
  await syncPlugins(db, builtInPlugins, now);
  await deleteExpiredSessions(db, now);
  return { db, first, health: () => metadataHealth(db, claim) };
}

async function metadataHealth(db: Metadata, claim: DatabaseClaim | undefined): Promise<HealthResult> {
  if (claim?.held() === false) {
    const detail = 'The connection that keeps other services from this database is lost; it is being made again.';
    return { ok: false, detail };
  }
  const rows = await db.selectFrom('config_revisions').select('id').execute();
  return { ok: rows.length > 0 };
}
