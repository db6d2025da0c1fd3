import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { ApiError } from '../../api/api-error.ts';
import { readStream, type StreamState } from '../../api/event-stream.ts';
import { projectPath } from '../../api/queries.ts';
import { untilSignedIn } from '../../api/until-signed-in.ts';
import { createLiveBuffer, emptyView, type LiveView } from './live-buffer.ts';
import type { LiveFilter } from './live-search.ts';

export interface LiveStream {
  readonly view: LiveView;
  readonly state: StreamState;
  /** Why the service does not open the stream just now; it is tried again. */
  readonly reason: ApiError | undefined;
  /** Breaks so far: what came by meanwhile was not seen. */
  readonly breaks: number;
  /** What no waiting cures. */
  readonly error: unknown;
}

const drawEveryMs = 250;
const atFirst: LiveStream = { view: emptyView, state: 'connecting', reason: undefined, breaks: 0, error: undefined };

/** Watches the project's events from now on. One filter for the life of the component: give it a key. */
export function useLiveStream(projectId: number, filter: LiveFilter): LiveStream {
  const [stream, setStream] = useState(atFirst);
  const client = useQueryClient();
  const { stages, event, distinct_id } = filter;
  const stagesText = stages?.join(',');
  useEffect(() => {
    const gone = new AbortController();
    const buffer = createLiveBuffer();
    const watching = readStream(projectPath(projectId, 'live_events'), {
      query: { stages: stagesText, event, distinct_id, steps: true },
      signal: gone.signal,
      untilSignedIn: (signal) => untilSignedIn(client, signal),
      onMessage: (message) => {
        if (message.event === 'event') buffer.add(message.data);
        else if (message.event === 'skipped') buffer.skip(message.data);
      },
      onState: (state, reason) =>
        setStream((before) => ({
          ...before,
          state,
          error: undefined,
          reason: state === 'open' ? undefined : (reason ?? before.reason),
          breaks: before.breaks + (before.state === 'open' && state === 'waiting' ? 1 : 0),
        })),
    });
    watching.catch((error: unknown) => setStream((before) => ({ ...before, state: 'waiting', error })));
    const timer = setInterval(() => {
      const view = buffer.view();
      setStream((before) => (before.view === view ? before : { ...before, view }));
    }, drawEveryMs);
    return () => {
      clearInterval(timer);
      gone.abort();
    };
  }, [client, projectId, stagesText, event, distinct_id]);
  return stream;
}
