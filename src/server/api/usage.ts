import { ApiError } from '../../wire/contract/errors.ts';
import { usageQuerySchema, usageSchema } from '../../wire/contract/events.ts';
import { usageByDay } from '../../stores/events/counts.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import { KeptCounts } from '../../stores/events/kept-counts.ts';
import { parseMicros } from '../../stores/events/micros.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { fromStore } from './events.ts';

/** Events received per day: standard ones, which count, and those of historical imports, which are free, apart. */
export function usageRoutes({ store }: { readonly store: EventStore }): ApiRoute[] {
  const kept = new KeptCounts(store);
  return [
    apiRoute({
      method: 'GET',
      path: '/api/projects/:project_id/usage',
      scope: 'project:read',
      tag: 'Projects',
      summary: 'Events received per day',
      description:
        'Each event counts once, on the day it first arrived (UTC). Days without events are left out. Historical ' +
        'events are not billed.',
      query: usageQuerySchema,
      responses: { 200: usageSchema },
      handler: async (request) => {
        const { after, before } = request.query;
        const range = { after: readDay(after, 'after'), before: readDay(before, 'before') };
        const results = await fromStore(() => usageByDay(store, request.project().id, range, kept));
        const total = { standard: 0, historical: 0 };
        for (const day of results) {
          total.standard += day.standard;
          total.historical += day.historical;
        }
        return { status: 200, body: { results, total } };
      },
    }),
  ];
}

function readDay(text: string | undefined, attr: string): bigint | undefined {
  if (text === undefined) return undefined;
  const micros = /^\d{4}-\d\d-\d\d$/.test(text) ? parseMicros(text) : undefined;
  if (micros !== undefined) return micros;
  throw new ApiError('invalid_input', 'Expected a day such as 2026-11-20.', { attr });
}
