import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useId, useRef, useState } from 'react';
import type { Page } from '../../../../src/wire/contract/pagination.ts';
import type { SampleEventRecord } from '../../../../src/wire/contract/sample-events.ts';
import { eventNamesQuery } from '../../api/stored-events.ts';
import { readStream } from '../../api/event-stream.ts';
import { parseExact } from '../../api/exact-json.ts';
import { apiQuery, projectPath, refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { waitForSignIn } from '../../api/wait-for-sign-in.ts';
import { useAnnounce } from '../../components/announcer.tsx';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Input } from '../../components/input.tsx';
import { isJsonObject, type JsonObject } from '../../components/json-value.ts';
import { BareSelect } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { useToast } from '../../components/toasts.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { readEvent, textOfEvent } from './test-event.ts';

interface EventSourceProps {
  readonly onEvent: (text: string) => void;
}

/** Loads a test event from the store, the live stream or a saved sample, to be edited. */
export function EventSource({ onEvent }: EventSourceProps) {
  const [name, setName] = useState('');
  return (
    <div className="grid grid-cols-2 gap-2">
      <NameInput name={name} onName={setName} />
      <Samples onEvent={onEvent} />
      <LatestStoredEvent name={name.trim()} onEvent={onEvent} />
      <NextLiveEvent name={name.trim()} onEvent={onEvent} />
    </div>
  );
}

/** Filters stored and live events by name. */
function NameInput({ name, onName }: { readonly name: string; readonly onName: (name: string) => void }) {
  const { id } = useProject();
  const list = useId();
  const names = useQuery(eventNamesQuery(id));
  return (
    <>
      <Input
        aria-label="Event name"
        placeholder="Any event name"
        value={name}
        list={list}
        onChange={({ target }) => onName(target.value)}
      />
      <datalist id={list}>
        {names.data?.results.map((each) => (
          <option key={each.name} value={each.name} />
        ))}
      </datalist>
    </>
  );
}

interface SourceButtonProps {
  /** Event name; empty for any. */
  readonly name: string;
  readonly onEvent: (text: string) => void;
}

function LatestStoredEvent({ name, onEvent }: SourceButtonProps) {
  const { id } = useProject();
  const toast = useToast();
  const announce = useAnnounce();
  const latest = useMutation({
    mutationFn: () =>
      request<{ readonly results: readonly JsonObject[] }>(projectPath(id, 'events'), {
        query: { limit: 1, event: name },
      }),
    onSuccess: ({ results: [event] }) => {
      if (event === undefined) {
        toast.error(name === '' ? 'No stored events.' : `No stored event named ${name}.`);
        return;
      }
      onEvent(textOfEvent(event));
      announce('Latest stored event loaded.');
    },
    onError: (error) => toast.error(error),
  });
  return (
    <Button busy={latest.isPending} onClick={() => latest.mutate()}>
      Latest stored event
    </Button>
  );
}

/** Waits for the next event. */
function NextLiveEvent({ name, onEvent }: SourceButtonProps) {
  const { id } = useProject();
  const toast = useToast();
  const announce = useAnnounce();
  const client = useQueryClient();
  const [waiting, setWaiting] = useState<AbortController>();
  const latest = useRef({ onEvent, announce, toast });
  latest.current = { onEvent, announce, toast };
  useEffect(() => () => waiting?.abort(), [waiting]);
  const wait = (): void => {
    const abort = new AbortController();
    setWaiting(abort);
    readStream(projectPath(id, 'live_events'), {
      query: { stages: 'received', event: name },
      signal: abort.signal,
      waitForSignIn: (signal) => waitForSignIn(client, signal),
      onMessage: ({ event, data }) => {
        const seen = event === 'event' ? parseExact(data) : undefined;
        if (!isJsonObject(seen) || abort.signal.aborted) return;
        latest.current.onEvent(textOfEvent(seen));
        latest.current.announce('Live event loaded.');
        setWaiting(undefined);
        abort.abort();
      },
    }).catch((error: unknown) => {
      latest.current.toast.error(error);
      setWaiting(undefined);
    });
  };
  if (waiting === undefined) return <Button onClick={wait}>Next live event</Button>;
  return (
    <Button busy onClickCapture={() => setWaiting(undefined)}>
      Waiting… Cancel
    </Button>
  );
}

function samplesPath(projectId: number): string {
  return projectPath(projectId, 'sample_events');
}

function Samples({ onEvent }: EventSourceProps) {
  const { id } = useProject();
  const samples = useQuery(apiQuery<Page<SampleEventRecord>>(samplesPath(id), { limit: 1000 }));
  const [chosen, setChosen] = useState('');
  const results = samples.data?.results ?? [];
  const choices = [
    { value: '', label: results.length === 0 ? 'No saved samples' : 'Saved samples…' },
    ...results.map((sample) => ({ value: String(sample.id), label: sample.name })),
  ];
  const choose = (value: string): void => {
    setChosen(value);
    const sample = results.find((each) => String(each.id) === value);
    if (sample !== undefined) onEvent(textOfEvent(sample.event));
  };
  return (
    <BareSelect
      aria-label="Saved sample"
      value={choices.some(({ value }) => value === chosen) ? chosen : ''}
      choices={choices}
      onChange={choose}
      disabled={results.length === 0}
    />
  );
}

/** Saves the current event as a sample. */
export function SaveSample({ eventText }: { readonly eventText: string }) {
  const { id } = useProject();
  const path = samplesPath(id);
  const client = useQueryClient();
  const toast = useToast();
  const [name, setName] = useState('');
  const save = useMutation({
    mutationFn: (event: JsonObject) => request(path, { method: 'POST', body: { name: name.trim(), event } }),
    onSuccess: async () => {
      toast.done(`Sample ${name.trim()} saved.`);
      setName('');
      await refresh(client, path);
    },
  });
  const submit = (): void => {
    const read = readEvent(eventText);
    if ('problem' in read) toast.error(read.problem);
    else if (name.trim() !== '') save.mutate(read.event);
  };
  return (
    <div className="flex flex-col gap-2">
      <div className="flex items-end gap-2">
        <div className="min-w-0 flex-1">
          <TextInput label="Save this event as" value={name} onChange={setName} maxLength={200} placeholder="Sign up" />
        </div>
        <Button busy={save.isPending} disabled={name.trim() === ''} onClick={submit}>
          Save sample
        </Button>
      </div>
      <ErrorNote error={save.error} />
    </div>
  );
}
