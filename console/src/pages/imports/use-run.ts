import { useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query';
import { useEffect } from 'react';
import { readStream } from '../../api/event-stream.ts';
import { parseExact } from '../../api/exact-json.ts';
import { untilSignedIn } from '../../api/until-signed-in.ts';
import { runPath, runQuery, type Run, type RunPlace } from './imports-query.ts';
import { isUnfinished } from '../../components/run-state.ts';

/** A run as it is now: while it is not over, its stream of progress keeps it fresh. */
export function useRun({ projectId, configId, runId }: RunPlace): UseQueryResult<Run> {
  const client = useQueryClient();
  const query = useQuery(runQuery({ projectId, configId, runId }));
  const state = query.data?.state;
  const isOpen = state !== undefined && isUnfinished(state);
  useEffect(() => {
    if (!isOpen) return undefined;
    const place = { projectId, configId, runId };
    const gone = new AbortController();
    const read = readStream(`${runPath(place)}/progress`, {
      signal: gone.signal,
      untilSignedIn: (signal) => untilSignedIn(client, signal),
      onMessage: ({ event, data }) => {
        if (event === 'progress') client.setQueryData(runQuery(place).queryKey, parseExact(data) as Run);
      },
    });
    // What the stream is refused for, the record says as well, and shows it.
    read.catch(() => client.invalidateQueries({ queryKey: runQuery(place).queryKey }));
    return () => gone.abort();
  }, [client, isOpen, projectId, configId, runId]);
  return query;
}
