import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { ApiError } from '../../api/api-error.ts';
import { readStream, type StreamState } from '../../api/event-stream.ts';
import { projectPath } from '../../api/queries.ts';
import { waitForSignIn } from '../../api/wait-for-sign-in.ts';
import { createLiveBuffer, emptyView, type LiveView } from './live-buffer.ts';
import type { LiveFilter } from './live-search.ts';

export interface LiveStream {
  readonly view: LiveView;
  readonly state: StreamState;
  /** Why the service refuses the stream for now; retried automatically. */
  readonly reason: ApiError | undefined;
  /** Number of disconnects; events during them were missed. */
  readonly breaks: number;
  /** An error that a retry cannot fix. */
  readonly error: unknown;
}

const renderIntervalMs = 250;
const initialStream: LiveStream = {
  view: emptyView,
  state: 'connecting',
  reason: undefined,
  breaks: 0,
  error: undefined,
};

/** Watches new events of the project. The filter must not change during the life of the component: give it a key. */
export function useLiveStream(projectId: number, filter: LiveFilter): LiveStream {
  const [stream, setStream] = useState(initialStream);
  const client = useQueryClient();
  const { stages, event, distinct_id } = filter;
  const stagesText = stages?.join(',');
  useEffect(() => {
    const abort = new AbortController();
    const buffer = createLiveBuffer();
    const watching = readStream(projectPath(projectId, 'live_events'), {
      query: { stages: stagesText, event, distinct_id, steps: true },
      signal: abort.signal,
      waitForSignIn: (signal) => waitForSignIn(client, signal),
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
    }, renderIntervalMs);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [client, projectId, stagesText, event, distinct_id]);
  return stream;
}
