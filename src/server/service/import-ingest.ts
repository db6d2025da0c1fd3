/** Calls from the import process to the main thread: ingest. */
import type { Answers, Call } from '../../base/calls.ts';
import type { IngestResult, ProjectIngest } from '../../imports/targets/project-ingest.ts';

/** The project and run that events are ingested for. */
export interface IngestOwner {
  readonly projectId: number;
  readonly runId: string;
}

/** Returns ingest of a project for the import process. */
export function projectIngestOver(call: Call, owner: IngestOwner): ProjectIngest {
  const ask = async (method: keyof ProjectIngest, ...args: readonly unknown[]): Promise<IngestResult> =>
    (await call('ingest', owner, method, ...args)) as IngestResult;
  return {
    accept: (body, events) => ask('accept', body, events),
    admit: (events) => ask('admit', events),
    acceptFacts: (of, body, facts) => ask('acceptFacts', of, body, facts),
  };
}

/** Answers the calls of `projectIngestOver`. */
export function ingestAnswers(ingestOf: (owner: IngestOwner) => ProjectIngest): Answers {
  return {
    ingest: (owner: IngestOwner, method: keyof ProjectIngest, ...args: unknown[]) => {
      // The arguments were typed in projectIngestOver.
      const ask = ingestOf(owner)[method] as (...args: readonly unknown[]) => Promise<IngestResult>;
      return ask(...args);
    },
  };
}
