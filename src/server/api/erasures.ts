import type { Static } from 'typebox';
import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import {
  erasureCountsSchema,
  erasureSchemas,
  erasureStartSchema,
  type ErasureProgress,
  type ErasureSpec,
  type ErasureStart,
} from '../../wire/contract/erasures.ts';
import type { EventSelection } from '../../wire/contract/event-selection.ts';
import { keptOutMax } from '../../wire/contract/kept-out.ts';
import { findStagedMentions } from '../../imports/run/erase-staged.ts';
import type { Staging } from '../../imports/staging.ts';
import { personByUuid } from '../../pipeline/persons/read-persons.ts';
import { countFilterErasure, countPersonErasure, idsOfSamePersons } from '../../queue/erasures/concerned-events.ts';
import { erasureKind } from '../../queue/erasures/erasure.ts';
import type { StoreReader } from '../../stores/events/eventstore.ts';
import { selectionFilter } from '../../stores/events/selection.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { countKeptOut } from '../../stores/metadata/kept-out-ids.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { keptOutRoutes } from './kept-out.ts';
import { readSelection } from './event-selection.ts';
import { taskRoutes, type PreparedTask } from './task-routes.ts';

interface ErasureRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly store: StoreReader;
  /** `undefined` if this process has no storage for files of imports. */
  readonly staging: Staging | undefined;
}

const idsMax = 100_000;
const openMax = 20;
const common = { scope: 'erasure', tag: 'Erasures' } as const;

/** Routes of erasures. */
export function erasureRoutes(deps: ErasureRouteDeps): ApiRoute[] {
  return [
    dryRunRoute(deps),
    ...keptOutRoutes(deps),
    ...taskRoutes(deps, {
      ...common,
      kind: erasureKind,
      path: 'erasures',
      activityScope: 'Erasure',
      noun: 'erasure',
      plural: 'erasures',
      startDescription:
        'Erases persons with all of their events, dead letters and staged records, or events by a filter. It cannot be undone. ' +
        'Count first with a dry run. The requested ids are not kept.',
      body: erasureStartSchema,
      schemas: erasureSchemas,
      openMax,
      refuseCancel: ({ progress, state }) => {
        const { step } = (progress ?? { step: 'waiting' }) as Pick<ErasureProgress, 'step'>;
        if (state !== 'running' || step === 'waiting' || step === 'counted') return undefined;
        return 'Expected an erasure that has not begun to delete, got: one that has. It continues to its end.';
      },
      prepare: async (request) => prepare(deps, request.project().id, request.body),
    }),
  ];
}

function dryRunRoute(deps: ErasureRouteDeps): ApiRoute {
  const { db, store, staging } = deps;
  return apiRoute({
    method: 'POST',
    path: '/api/projects/:project_id/erasures/dry_run',
    scope: 'erasure:read',
    tag: common.tag,
    summary: 'Count what an erasure would remove',
    description: 'Takes the body of an erasure. Changes nothing.',
    body: erasureStartSchema,
    keepsDigits: true,
    responses: { 200: erasureCountsSchema },
    handler: async (request) => {
      const projectId = request.project().id;
      const { secrets } = await prepare(deps, projectId, request.body);
      if (secrets.selection !== undefined) {
        const filter = selectionFilter(JSON.parse(secrets.selection) as EventSelection);
        return { status: 200, body: await countFilterErasure({ db, store }, { projectId, filter }) };
      }
      const ids = await idsOfSamePersons(db, projectId, JSON.parse(secrets.ids ?? '[]') as readonly string[]);
      const none = { ended: [], open: [] };
      const find = async () => (staging === undefined ? none : findStagedMentions({ db, staging }, projectId, ids));
      return { status: 200, body: await countPersonErasure({ db, store, staged: { find } }, projectId, ids) };
    },
  });
}

type Prepared = PreparedTask<ErasureSpec> & {
  readonly secrets: { readonly ids?: string; readonly selection?: string };
};

/** Ids and values are secrets: they are removed when the task ends. @throws ApiError */
async function prepare({ db }: ErasureRouteDeps, projectId: number, body: ErasureStart): Promise<Prepared> {
  const { person_ids: persons = [], distinct_ids: ids = [], selection, keep_out: isKeptOut = false } = body;
  const requested = persons.length + ids.length;
  if (selection !== undefined) {
    if (requested > 0) throw invalid('selection', 'Expected ids of persons or a selection of events, got both.');
    if (isKeptOut) throw invalid('keep_out', 'Expected "keep_out" with ids of persons, got a selection of events.');
    return prepareSelection(selection);
  }
  if (requested === 0) {
    throw invalid('person_ids', 'Expected "person_ids", "distinct_ids" or a "selection", got none of them.');
  }
  const seeds = new Set(ids);
  for (const uuid of persons) {
    const person = await personByUuid(db, projectId, uuid.toLowerCase());
    if (person === undefined) throw invalid('person_ids', `Expected uuids of persons of this project, got: ${uuid}`);
    for (const id of person.distinct_ids) seeds.add(id);
  }
  if (seeds.size > idsMax) {
    throw invalid(
      'person_ids',
      `Expected persons with at most ${idsMax} ids together, got: ${seeds.size}. Split them.`,
    );
  }
  if (isKeptOut) await refuseTooMany(db, projectId, seeds.size);
  const spec = { by: 'persons', requested_ids: requested, selection: null, keep_out: isKeptOut } as const;
  return { spec, secrets: { ids: JSON.stringify([...seeds]) } };
}

/** @throws ApiError */
async function refuseTooMany(db: Metadata, projectId: number, added: number): Promise<void> {
  const count = await countKeptOut(db, projectId);
  if (count + added <= keptOutMax) return;
  const expected = `Expected at most ${keptOutMax} ids that a project keeps out, got: ${count + added}.`;
  throw invalid('keep_out', `${expected} Remove ids from the list, or erase without "keep_out".`);
}

function prepareSelection(given: EventSelection): Prepared {
  const selection = readSelection(given);
  if (Object.values(selection).every((value) => value === undefined)) {
    throw invalid(
      'selection',
      'Expected at least one condition, got none. Delete the project to erase all of its events.',
    );
  }
  if (selection.person_id !== undefined) {
    throw invalid('selection__person_id', 'Expected "person_ids" to erase a person, or "distinct_ids" in a selection.');
  }
  const { distinct_ids: ids, properties, ...shown } = selection;
  const conditions = properties?.map(({ key, operator = 'exact' }) => ({ key, operator }));
  const spec: ErasureSpec = {
    by: 'events',
    requested_ids: ids?.length ?? 0,
    selection: { ...shown, ...(conditions && { properties: conditions }) } as Static<
      typeof erasureSchemas.spec
    >['selection'],
  };
  return { spec, secrets: { selection: JSON.stringify(selection) } };
}

function invalid(attr: string, detail: string): ApiError {
  return new ApiError('invalid_input', detail, { attr });
}
