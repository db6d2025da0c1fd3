import type { Clock } from '../../base/clock.ts';
import type { AcceptedBatch, Ingest } from '../../wire/batch/ingest.ts';
import { NoAgreementError, type Agreements } from '../../wire/capture/agreements.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { Queries } from '../../stores/metadata/queries.ts';

/**
 * Ingest into the historical lane of one project, limited by its agreement. Results are plain values, because the caller may be in
 * another thread.
 */
export interface ProjectIngest {
  /** `body` holds `events` events as `zstd-ndjson` (see BodyEncoding). Resolves once they are durable, or with why they cannot be accepted now. */
  accept(body: Uint8Array, events: number): Promise<IngestResult>;
  /** Counts events against the agreement whose rows reach the event store another way. */
  admit(events: number): Promise<IngestResult>;
  /** Accepts facts: what events with stored rows contain about persons or groups. The agreement counts the events, not these. */
  acceptFacts(of: 'persons' | 'groups', body: Uint8Array, facts: number): Promise<IngestResult>;
}

export type IngestResult =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'wait'; readonly reason: string; readonly retryAfterMs: number }
  /** Only a user can help. */
  | { readonly kind: 'refused'; readonly reason: string };

interface ProjectIngestDeps {
  readonly projectId: number;
  /** Names the run in the records of the log. */
  readonly runId: string;
  readonly ingest: Ingest;
  readonly agreements: Agreements;
  /** Returns whether an agreement of the project waits for its decision. */
  readonly isFiled: (projectId: number) => Promise<boolean>;
  readonly clock: Clock;
}

const filedWaitMs = 120_000;
const defaultWaitMs = 5000;

export function createProjectIngest(deps: ProjectIngestDeps): ProjectIngest {
  const { projectId, runId, ingest, agreements, clock } = deps;
  const append = async (body: Uint8Array, events: number, more: Pick<AcceptedBatch, 'rowsStored'> = {}) => {
    const requestId = `import-${runId}`;
    const of = { lane: 'historical', projectId, encoding: 'zstd-ndjson', receivedAt: clock.now(), requestId } as const;
    try {
      await ingest.accept({ ...of, body, events, ...more });
      return accepted;
    } catch (error) {
      return waitFor(asApiError(error));
    }
  };
  /** Returns a function to undo the count, or why the events are not admitted. */
  const admit = async (events: number): Promise<(() => void) | IngestResult> => {
    try {
      return await agreements.admit(projectId, events);
    } catch (error) {
      return notAdmitted(deps, asApiError(error));
    }
  };
  return {
    accept: async (body, events) => {
      const admitted = await admit(events);
      if (typeof admitted !== 'function') return admitted;
      const answer = await append(body, events);
      if (answer.kind !== 'accepted') admitted();
      return answer;
    },
    admit: async (events) => {
      const admitted = await admit(events);
      return typeof admitted === 'function' ? accepted : admitted;
    },
    acceptFacts: (of, body, facts) => append(body, facts, { rowsStored: of }),
  };
}

const accepted: IngestResult = { kind: 'accepted' };

async function notAdmitted(deps: ProjectIngestDeps, error: ApiError): Promise<IngestResult> {
  const wait = waitFor(error);
  if (!(error instanceof NoAgreementError)) return wait;
  const isTotal = error.limit === 'total';
  if (await deps.isFiled(deps.projectId)) {
    const reason = 'an agreement for this import is filed, not yet approved; an operator approves it';
    return { kind: 'wait', reason, retryAfterMs: isTotal ? filedWaitMs : wait.retryAfterMs };
  }
  return isTotal ? { kind: 'refused', reason: error.detail } : wait;
}

function waitFor(error: ApiError): IngestResult & { kind: 'wait' } {
  const header = error.headers['retry-after'] ?? error.headers['Retry-After'];
  const retryAfterMs = header === undefined ? defaultWaitMs : Number(header) * 1000;
  return { kind: 'wait', reason: error.detail, retryAfterMs };
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError && (error.code === 'throttled' || error.code === 'unavailable')) return error;
  throw error;
}

/** Returns whether an agreement of the project is filed and undecided. */
export async function hasFiledAgreement(db: Queries, projectId: number): Promise<boolean> {
  const row = await db
    .selectFrom('historical_migrations')
    .select('id')
    .where('project_id', '=', projectId)
    .where('state', '=', 'filed')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
