/** What the process of imports asks of the main thread: ingest. */
import type { Answers, Call } from '../../base/calls.ts';
import type { IngestResult, ProjectIngest } from '../../imports/targets/project-ingest.ts';

/** The project and run that events are ingested for. */
export interface IngestOwner {
  readonly projectId: number;
  readonly runId: string;
}

/** Ingest of a project as the other process sees it. */
export function projectIngestOver(call: Call, owner: IngestOwner): ProjectIngest {
  const ask = async (way: keyof ProjectIngest, ...args: readonly unknown[]): Promise<IngestResult> =>
    (await call('ingest', owner, way, ...args)) as IngestResult;
  return {
    accept: (body, events) => ask('accept', body, events),
    admit: (events) => ask('admit', events),
    acceptFacts: (of, body, facts) => ask('acceptFacts', of, body, facts),
  };
}

/** The other end of `projectIngestOver`. */
export function ingestAnswers(ingestOf: (owner: IngestOwner) => ProjectIngest): Answers {
  return {
    ingest: (owner: IngestOwner, way: keyof ProjectIngest, ...args: unknown[]) => {
      // The arguments were typed where projectIngestOver took them.
      const ask = ingestOf(owner)[way] as (...args: readonly unknown[]) => Promise<IngestResult>;
      return ask(...args);
    },
  };
}
