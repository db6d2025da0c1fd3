import { learnLimits, planLimits } from '../../wire/contract/plan-policies.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { planLearnResultSchema, planLearnSchema, type PlanLearnResult } from '../../wire/contract/tracking-plan.ts';
import { learnPlan } from '../../wire/tracking-plan/learn-plan.ts';
import { eventShapes, type EventShape, type PropertyShape } from '../../stores/events/event-shapes.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import { normalizeSelection, selectionFilter, SelectionError } from '../../stores/events/selection.ts';
import { findPlan } from '../../stores/metadata/tracking-plans.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { atMost } from './at-most.ts';
import { fromStore } from './events.ts';
import { planTag, readStored, trackingPlanPath, type TrackingPlanDeps } from './tracking-plan.ts';

/** Each reads many events. */
const atOnceMax = 2;

/** Route that drafts a tracking plan from stored events. */
export function trackingPlanLearnRoutes(deps: TrackingPlanDeps & { readonly store: EventStore }): ApiRoute[] {
  const limited = atMost(atOnceMax);
  return [
    apiRoute({
      method: 'POST',
      path: `${trackingPlanPath}/learn`,
      scope: 'tracking_plan:write',
      tag: planTag,
      summary: 'Draft a tracking plan from stored events',
      description:
        'Reads a sample of stored events, or all of a time range, and returns a draft with its differences from the plan and what was ' +
        'seen. Saves nothing: PUT the draft, changed where necessary.',
      body: planLearnSchema,
      responses: { 200: planLearnResultSchema },
      handler: (request) =>
        limited(async () => {
          const { sample = learnLimits.sampleDefault, replace = false, ...selection } = request.body;
          const { id } = request.project();
          const filter = filterOf(selection);
          const limits = {
            sampleMax: sample,
            eventsMax: planLimits.eventsMax,
            propertiesMax: planLimits.propertiesMax,
            textsMax: learnLimits.valuesMax,
            textCharsMax: learnLimits.valueCharsMax,
          };
          const found = await fromStore(() => eventShapes(deps.store, id, filter, limits));
          const stored = await findPlan(deps.db, id);
          const { draft, changes, leftOut } = learnPlan(found.events, { plan: readStored(stored), replace });
          const { total, sampled } = found;
          const seen = found.events.map(seenEvent);
          const body = { version: stored?.version ?? 0, total, sampled, draft, changes, seen, left_out: leftOut };
          // Sound: a plan has the form of the schema, whose lists are not readonly.
          return { status: 200, body: body as unknown as PlanLearnResult };
        }),
    }),
  ];
}

/** @throws ApiError */
function filterOf(selection: Parameters<typeof selectionFilter>[0]): ReturnType<typeof selectionFilter> {
  try {
    return selectionFilter(normalizeSelection(selection));
  } catch (error) {
    if (error instanceof SelectionError) throw new ApiError('invalid_input', error.message, { attr: error.attr });
    throw error;
  }
}

function seenEvent({ name, count, properties }: EventShape): PlanLearnResult['seen'][number] {
  return { name, count, properties: properties.map((property) => seenProperty(property, count)) };
}

function seenProperty({ name, count, types, texts }: PropertyShape, of: number) {
  // Copies of an event that a later merge removes may differ.
  const share = Math.min(1, Math.round((count / of) * 10_000) / 10_000);
  return { name, share, types: { ...types }, values: texts?.map((text) => JSON.parse(text) as string) ?? null };
}
