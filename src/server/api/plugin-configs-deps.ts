import type { Transaction } from 'kysely';
import type { Clock } from '../../base/clock.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import type { Family } from '../../wire/contract/plugins.ts';
import { actorOf } from '../http/actor.ts';
import type { ApiReply, ApiRequest } from '../http/api-route.ts';
import type { Database, Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { beginWork, type Work } from '../../plugins/configs/save-changes.ts';
import { findConfig, type ConfigPlace, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import { createTrial, type GeoIpState } from '../../plugins/configs/create-trial.ts';
import type { PluginRegistry } from '../../plugins/plugin-registry.ts';
import { idempotent } from './idempotency.ts';

export interface PluginConfigDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly registry: Pick<PluginRegistry, 'get'>;
  /** Used by built-in plugins when settings are tested. */
  readonly trials?: { readonly geoip: GeoIpState };
}

export type IdParams = { readonly id: number };

/** Wraps a handler that changes configs: in one transaction, without concurrent changes, honouring `Idempotency-Key`. */
export function changing<P, Q, B>(
  { db, clock, registry, trials }: PluginConfigDeps,
  act: (work: Work, request: ApiRequest<P, Q, B>) => Promise<ApiReply>,
): (request: ApiRequest<P, Q, B>) => Promise<ApiReply> {
  const trial = createTrial(registry, trials?.geoip);
  return idempotent(db, clock, async (request: ApiRequest<P, Q, B>, tx: Transaction<Database>) => {
    const work = { tx, actor: actorOf(request), projectId: request.project().id, now: clock.now(), trial };
    return act(await beginWork(work), request);
  });
}

/** @throws ApiError not_found */
export async function requireConfig(db: Queries, at: ConfigPlace & { readonly id: number }): Promise<StoredConfig> {
  return orNotFound(await findConfig(db, at));
}

/**
 * Like `changing`, for the config in the path. With `If-Match`, only if `updated_at` is unchanged, so that a client does not
 * overwrite changes that it has not read. @throws ApiError not_found, precondition_failed
 */
export function changingConfig<P extends IdParams, Q, B>(
  deps: PluginConfigDeps,
  family: Family,
  act: (work: Work, config: StoredConfig, request: ApiRequest<P, Q, B>) => Promise<ApiReply>,
): (request: ApiRequest<P, Q, B>) => Promise<ApiReply> {
  return changing(deps, async (work, request: ApiRequest<P, Q, B>) => {
    const config = await requireConfig(work.tx, { ...work, family, id: request.params.id });
    refuseUnseen(config, request.headers['if-match']);
    return act(work, config, request);
  });
}

function refuseUnseen({ updatedAt }: StoredConfig, ifMatch: string | string[] | undefined): void {
  if (ifMatch === undefined || ifMatch === '*' || ifMatch === `"${updatedAt}"`) return;
  throw new ApiError(
    'precondition_failed',
    `The config was changed at ${updatedAt}, after it was read: read it again.`,
  );
}
