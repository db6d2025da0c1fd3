import { ApiError } from '../../wire/contract/errors.ts';
import type { PluginConfigUpdate } from '../../wire/contract/plugin-configs.ts';
import type { Family } from '../../wire/contract/plugins.ts';
import { saveChange, type Work } from '../../plugins/configs/save-changes.ts';
import type { StoredConfig } from '../../plugins/configs/stored-config.ts';
import { applyFields } from '../../plugins/configs/update-config.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { JsonObject } from '../../base/json.ts';
import { enqueue } from './queue.ts';

const payloadCharsMax = 100_000;

export interface JobOrder {
  readonly type?: string;
  readonly payload?: JsonObject;
  readonly operation?: string;
}

/**
 * Does a job's work in the transaction where no runner is needed (actions on import runs). Returns false if a runner must do it.
 * @throws ApiError when the current state does not allow it
 */
type SteerJob = (job: {
  readonly tx: Queries;
  readonly config: StoredConfig;
  readonly type: string;
  readonly payload: JsonObject;
  /** ms since the epoch. */
  readonly now: number;
}) => Promise<boolean>;

/** The job of a config when the request names none. */
const defaultJobs = { 'import-app': 'run', transformation: 'restart' } as const satisfies Record<Family, string>;

/**
 * Applies the given fields, then starts a job, whether the config is enabled or not, in one transaction.
 * `restart` of a transformation needs no runner: the changed record makes every worker create its instance again.
 */
export async function startJob(
  work: Work,
  config: StoredConfig,
  fields: PluginConfigUpdate,
  order: JobOrder | undefined,
  steer?: SteerJob,
): Promise<{ readonly config: StoredConfig; readonly jobId: string }> {
  if (order !== undefined && (order.type === undefined || order.type === '')) {
    throw new ApiError('invalid_input', 'The job type must be specified!');
  }
  const payload = order?.payload ?? {};
  refuseLargePayload(payload);
  const operation = order?.operation ?? 'start';
  const updated = await applyFields(work, config, fields);
  const type = order?.type ?? defaultType(updated);
  refuseUnknownType(updated, type);
  const isRestart = config.family === 'transformation' && type === 'restart';
  const saved = await saveChange(work, {
    before: config,
    after: isRestart ? { ...updated, error: work.trial(updated) } : updated,
    activity: 'job_triggered',
    extra: [{ field: 'job', action: 'created', before: null, after: { type, operation } }],
  });
  const { projectId, now } = work;
  const isSteered = (await steer?.({ tx: work.tx, config: saved, type, payload, now })) ?? false;
  const state = isRestart || isSteered ? 'succeeded' : 'queued';
  const job = { projectId, configId: config.id, type, operation, payload, now };
  return { config: saved, jobId: await enqueue(work.tx, { ...job, state }) };
}

function refuseLargePayload(payload: JsonObject): void {
  if (JSON.stringify(payload).length <= payloadCharsMax) return;
  const detail = `Ensure the payload has no more than ${payloadCharsMax} characters of JSON.`;
  throw new ApiError('max_length', detail, { attr: 'job__payload' });
}

/** An app without `run` but with a schedule runs its next scheduled task now. */
function defaultType(config: StoredConfig): string {
  const standard = defaultJobs[config.family];
  if (knownTypes(config).has(standard)) return standard;
  return config.plugin.capabilities.scheduled_tasks[0] ?? standard;
}

/** Checks the updated config, because a change of plugin changes the available jobs. */
function refuseUnknownType(config: StoredConfig, type: string): void {
  const known = knownTypes(config);
  if (known.has(type)) return;
  const detail = `Unknown job type "${type}". The jobs of "${config.plugin.name}" are: ${[...known].join(', ')}.`;
  throw new ApiError('invalid_input', detail, { attr: 'job__type' });
}

/** Jobs, scheduled tasks (run once, out of turn), and `restart` for a transformation. */
function knownTypes({ plugin, family }: StoredConfig): ReadonlySet<string> {
  const { jobs, scheduled_tasks: tasks } = plugin.capabilities;
  const own = family === 'transformation' ? [defaultJobs.transformation] : [];
  return new Set([...Object.keys(plugin.publicJobs), ...jobs, ...tasks, ...own]);
}
