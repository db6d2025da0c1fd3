import type { Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { JsonObject } from '../../base/json.ts';
import { enqueue } from './queue.ts';

export const pluginJobsMax = 10_000;
const payloadCharsMax = 1_000_000;
const nameLengthMax = 200;
/** Later times have more digits and would sort wrongly. */
const latest = Date.parse('9999-12-31T00:00:00Z');

interface PluginJobOrder {
  readonly name: string;
  readonly payload: JsonObject;
  /** ms since the epoch; a time in the past is due immediately. */
  readonly runAt: number;
}

/**
 * Implements `meta.jobs.NAME(payload).runAt(…)`. Returns the job's id.
 * @throws Error for an invalid name, payload or time, when too many jobs are queued, or when the config was deleted
 */
export async function enqueuePluginJob(
  db: Metadata,
  config: { readonly configId: number; readonly projectId: number },
  job: PluginJobOrder,
  now: number,
): Promise<string> {
  refuse(job);
  return db.transaction().execute(async (tx) => {
    await refuseForConfig(tx, config.configId);
    return enqueue(tx, {
      projectId: config.projectId,
      configId: config.configId,
      kind: 'enqueued',
      type: job.name,
      operation: 'enqueue',
      payload: job.payload,
      runAt: Math.max(job.runAt, now),
      now,
    });
  });
}

function refuse({ name, payload, runAt }: PluginJobOrder): void {
  if (name === '' || name.length > nameLengthMax) {
    throw new Error(`expected a job name of 1 to ${nameLengthMax} characters, got ${name.length}`);
  }
  if (!(runAt < latest))
    throw new Error(`expected a time before the year 9999 for job "${name}"; check runIn or runAt`);
  const { length } = JSON.stringify(payload);
  if (length <= payloadCharsMax) return;
  throw new Error(
    `expected at most ${payloadCharsMax} characters of JSON as the payload of job "${name}", got ${length}; ` +
      'keep the data in storage and pass its key',
  );
}

async function refuseForConfig(tx: Queries, configId: number): Promise<void> {
  const config = await tx.selectFrom('plugin_configs').select('id').where('id', '=', configId).executeTakeFirst();
  if (config === undefined) throw new Error('the config was deleted; no more jobs can be added');
  const { count } = await tx
    .selectFrom('jobs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('kind', '=', 'enqueued')
    .where('state', '=', 'queued')
    .where('config_id', '=', configId)
    .executeTakeFirstOrThrow();
  if (Number(count) < pluginJobsMax) return;
  throw new Error(`expected at most ${pluginJobsMax} queued jobs per config; wait until some have run`);
}
