import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import {
  eventReplaySchemas,
  eventReplayStartSchema,
  replayMethods,
  type EventReplayStart,
  type ReplayMethod,
} from '../../wire/contract/event-replays.ts';
import { findAnyConfig } from '../../plugins/configs/stored-config.ts';
import { isRowId } from '../../plugins/configs/stored-plugin.ts';
import { replayKind } from '../../queue/replays/replay-events.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { ApiRoute } from '../http/api-route.ts';
import { readSelection } from './event-selection.ts';
import { taskRoutes } from './task-routes.ts';

interface EventReplayDeps {
  readonly db: Metadata;
  readonly clock: Clock;
}

/** Routes of background replays of stored events through a plugin. */
export function eventReplayRoutes(deps: EventReplayDeps): ApiRoute[] {
  return taskRoutes(deps, {
    kind: replayKind,
    path: 'event_replays',
    tag: 'Event replays',
    scope: 'plugin',
    activityScope: 'EventReplay',
    noun: 'event replay',
    plural: 'event replays',
    startDescription:
      'Passes stored events to `onEvent` or `exportEvents` of a plugin config, oldest first. Events that are received after the ' +
      'start are not included. Failed deliveries are retried as those of live events, and then kept as failed jobs of the config.',
    body: eventReplayStartSchema,
    schemas: eventReplaySchemas,
    openMax: 5,
    prepare: async ({ body, project }) => {
      const method = await methodOf(deps, project().id, body);
      const { plugin_config, events_per_second } = body;
      const selection = readSelection(body.selection ?? {});
      return { spec: { plugin_config, method, selection, ...(events_per_second && { events_per_second }) } };
    },
  });
}

/** Returns the method that receives the events. @throws ApiError */
async function methodOf(
  { db, clock }: EventReplayDeps,
  projectId: number,
  { plugin_config: id, method }: EventReplayStart,
): Promise<ReplayMethod> {
  const config = isRowId(id) ? await findAnyConfig(db, id, clock.now()) : undefined;
  const invalid = (attr: string, detail: string) => new ApiError('invalid_input', detail, { attr });
  if (config?.projectId !== projectId || config.deleted) {
    throw invalid('plugin_config', `Expected the id of a plugin config of this project, got: ${id}`);
  }
  const known = replayMethods.filter((name) => config.plugin.capabilities.methods.includes(name));
  const name = config.plugin.name;
  if (known.length === 0) {
    throw invalid('plugin_config', `Expected a plugin with onEvent or exportEvents, got "${name}", which has neither.`);
  }
  if (!config.enabled) {
    throw invalid('plugin_config', `Expected an enabled config, got: ${id}, which is disabled. Enable it first.`);
  }
  const [only] = known;
  if (method === undefined && known.length === 1 && only !== undefined) return only;
  if (method !== undefined && known.includes(method)) return method;
  const has = `"${name}" has ${known.join(' and ')}`;
  throw invalid('method', `Expected a method of the plugin (${has}), got: ${method ?? 'none'}`);
}
