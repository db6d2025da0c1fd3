import { Type } from 'typebox';
import { isObject, type JsonObject } from '../../base/json.ts';
import {
  dryRunOneResultSchema,
  dryRunOneSchema,
  dryRunResultSchema,
  dryRunSchema,
  type DryRun,
  type DryRunOne,
} from '../../wire/contract/dead-letter-replays.ts';
import { orNotFound } from '../../wire/contract/errors.ts';
import { apiRoute, type ApiReply, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import {
  countDeadLetters,
  findDeadLetter,
  openDeadLetterIds,
  type DeadLetter,
} from '../../pipeline/dead-letter-queries.ts';
import { prepareReplay } from '../../pipeline/prepare-replay.ts';
import { readTrialEvent, type TrialEvent } from '../../pipeline/transform/trial-event.ts';
import { openTrial, type Trial, type TrialResult } from '../../pipeline/transform/trial-run.ts';
import { atMost } from './at-most.ts';
import { chosenDeadLetters } from './dead-letter-choice.ts';
import type { DeadLetterDeps } from './dead-letters.ts';
import { enabledChain } from './transformation-drafts.ts';
import { shownChain, type TransformationTestDeps } from './transformation-tests.ts';

export type DeadLetterTrialDeps = DeadLetterDeps & Pick<TransformationTestDeps, 'packages' | 'trials'>;

const path = '/api/projects/:project_id/dead_letters';
const common = { method: 'POST', scope: 'ingestion_warning:write', tag: 'Dead letters' } as const;
const examinedDefault = 20;
/** Each may occupy the plugins of a project for as long as a task may take. */
const atOnceMax = 2;
const asFarAs =
  'Validates events as ingest does and sends them through the enabled transformations, without storing anything. Later steps ' +
  '(persons, groups) are not tested.';

/** Routes of dry runs of replays. */
export function deadLetterTrialRoutes(deps: DeadLetterTrialDeps): ApiRoute[] {
  const limited = atMost(atOnceMax);
  return [
    apiRoute({
      ...common,
      path: `${path}/dry_run`,
      summary: 'Dry-run a replay of dead letters',
      description: `Examines the oldest selected dead letters. ${asFarAs}`,
      body: dryRunSchema,
      responses: { 200: dryRunResultSchema },
      handler: (request) => limited(() => tryMany(deps, request)),
    }),
    apiRoute({
      ...common,
      path: `${path}/:id/dry_run`,
      summary: 'Dry-run a replay of a dead letter, optionally corrected',
      description: asFarAs,
      params: Type.Object({ id: Type.String() }),
      body: dryRunOneSchema,
      responses: { 200: dryRunOneResultSchema },
      handler: (request) => limited(() => tryOne(deps, request)),
    }),
  ];
}

async function tryMany(deps: DeadLetterTrialDeps, request: ApiRequest<unknown, unknown, DryRun>): Promise<ApiReply> {
  const { db } = deps;
  const project = request.project();
  const filter = chosenDeadLetters(request.body);
  const matched = await countDeadLetters(db, project.id, { ...filter, state: 'open' });
  const ids = await openDeadLetterIds(db, project.id, filter, request.body.limit ?? examinedDefault);
  const trial = openTrial(trialDepsOf(deps, request.body), await enabledChain(deps, project));
  try {
    const results: ({ readonly id: string } & ReturnType<typeof summaryOf>)[] = [];
    for (const id of ids) {
      const letter = await findDeadLetter(db, project.id, id);
      if (letter !== undefined) results.push({ id, ...summaryOf(letter, await tryLetter(deps, trial, letter)) });
    }
    const count = (wanted: Outcome): number => results.filter(({ outcome }) => outcome === wanted).length;
    const counts = { stored: count('stored'), dropped: count('dropped'), refused: count('refused') };
    return { status: 200, body: { matched, examined: results.length, ...counts, results } };
  } finally {
    void trial.close();
  }
}

async function tryOne(
  deps: DeadLetterTrialDeps,
  request: ApiRequest<{ readonly id: string }, unknown, DryRunOne>,
): Promise<ApiReply> {
  const project = request.project();
  const letter = orNotFound(await findDeadLetter(deps.db, project.id, request.params.id));
  const chain = await enabledChain(deps, project);
  const trial = openTrial(trialDepsOf(deps, request.body), chain);
  try {
    // Sound: the body is parsed JSON.
    const edited = request.body.event as JsonObject | undefined;
    const { outcome, code, detail, result } = await tryLetter(deps, trial, letter, edited);
    return { status: 200, body: { outcome, code, detail, chain: result === null ? null : shownChain(result) } };
  } finally {
    void trial.close();
  }
}

type Outcome = 'stored' | 'dropped' | 'refused';

interface TriedLetter {
  readonly outcome: Outcome;
  readonly code: string | null;
  readonly detail: string | null;
  /** `null` if ingest refuses the event. */
  readonly result: TrialResult | null;
}

async function tryLetter(
  { eventBytesMax, clock }: DeadLetterTrialDeps,
  trial: Trial,
  letter: DeadLetter,
  edited?: JsonObject,
): Promise<TriedLetter> {
  const replay = prepareReplay(letter, edited, { requestId: '', eventBytesMax });
  if (!replay.ok) return { outcome: 'refused', code: replay.code, detail: replay.detail, result: null };
  const result = await trial.run(eventOf(letter, edited, clock.now()));
  return { outcome: result.outcome === 'dropped' ? 'dropped' : 'stored', code: null, detail: null, result };
}

/** The event has passed ingest validation, which accepts unreadable times and ids that are not strings. */
function eventOf(letter: DeadLetter, edited: JsonObject | undefined, now: number): TrialEvent {
  const event = edited ?? (JSON.parse(Buffer.from(letter.original).toString('utf8')) as JsonObject);
  const { timestamp, properties } = event;
  const isReadable = typeof timestamp === 'string' && !Number.isNaN(Date.parse(timestamp));
  const id = event['distinct_id'] ?? (isObject(properties) ? properties['distinct_id'] : undefined);
  return readTrialEvent(
    {
      ...event,
      timestamp: isReadable ? timestamp : letter.received_at,
      distinct_id: typeof id === 'string' ? id : JSON.stringify(id ?? null),
    },
    now,
  );
}

function summaryOf(letter: DeadLetter, { outcome, code, detail, result }: TriedLetter) {
  const steps = result?.steps ?? [];
  return {
    event: result?.after?.event ?? letter.event,
    outcome,
    code,
    detail,
    dropped_by: steps.find((step) => step.outcome === 'dropped')?.configId ?? null,
    failed_in: steps.filter((step) => step.outcome === 'failed').map(({ configId }) => configId),
  };
}

function trialDepsOf({ trials }: DeadLetterTrialDeps, { requests }: DryRun | DryRunOne) {
  return { ...trials, requestsRefused: requests === 'refused' };
}
