import { ApiError } from '../../wire/contract/errors.ts';
import { importPreflightSchema } from '../../wire/contract/import-preflight.ts';
import { importRunCreateSchema } from '../../wire/contract/import-runs.ts';
import { pluginConfigIdSchema } from '../../wire/contract/plugin-configs.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { planRun } from '../../imports/run/steering.ts';
import { atMost } from './at-most.ts';
import { lookReply, lookSignal } from './import-looks.ts';
import {
  configsBase,
  payloadOf,
  requirePlaces,
  requireSource,
  runsTag,
  type ImportRouteDeps,
} from './import-runs-deps.ts';

/** Each reads a source in a process of its own. */
const atOnceMax = 4;

/** What stands in the way of a run that does not exist yet. */
export function importPreflightRoutes(deps: ImportRouteDeps): ApiRoute[] {
  const { db, clock, registry } = deps;
  const limited = atMost(atOnceMax);
  return [
    apiRoute({
      method: 'POST',
      path: `${configsBase}/:id/preflight`,
      scope: 'plugin:write',
      tag: runsTag,
      summary: 'Look at what an import run would need',
      description:
        'Target, keys and their scopes, agreement, clock, disk, and the first records of the source, side by side within ' +
        '3 s. Makes no run, fetches and sends nothing. The body is that of a run. Every run begins with the same look, ' +
        'unless it is made with `preflight: false`.',
      params: pluginConfigIdSchema,
      body: importRunCreateSchema,
      responses: { 200: importPreflightSchema },
      handler: async ({ project, params, body, stopping, gone }) => {
        const { preflight } = requirePlaces(deps);
        if (preflight === undefined) {
          throw new ApiError('unavailable', 'This process reaches no sources; ask one that runs imports.');
        }
        const projectId = project().id;
        const now = clock.now();
        const { config, source } = await requireSource(registry, { tx: db, projectId, now }, params.id);
        const plan = await planRun(source, { tx: db, config, payload: payloadOf(body), now });
        const order = { ...plan, projectId, configId: config.id };
        const signal = lookSignal({ stopping, gone });
        return limited(async () => lookReply(await preflight(order, signal), config));
      },
    }),
  ];
}
