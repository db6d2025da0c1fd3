import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { projectPath, refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { counted } from '../../components/format-number.ts';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import {
  controlRun,
  type HistoricalSettings,
  historicalSettingsQuery,
  type Run,
  type RunIds,
  runQuery,
  startRun,
} from './imports-query.ts';
import { loadBody } from './run-actions.ts';
import { type CheckResult, eventsToLoad } from './run-results.ts';

interface LoadSectionProps {
  /** The check run. */
  readonly run: Run;
  readonly check: CheckResult;
  readonly load: ReturnType<typeof useLoad>;
}

/** What the load of a checked run stores, and a trial as an alternative. */
export function LoadSection({ run, check, load }: LoadSectionProps) {
  const { target, events_per_second: speed } = run.options;
  const isProject = target.kind === 'project';
  return (
    <Section title="Load">
      <div className="flex flex-col gap-4">
        <Facts
          facts={[
            [
              'Events',
              <span key="n">
                <NumberText value={eventsToLoad(check)} />, from <TimeText time={check.first_time} /> to{' '}
                <TimeText time={check.last_time} />
              </span>,
            ],
            ['Not loaded', notLoaded(run, check)],
            ['Target', isProject ? 'this project' : <UserText key="t" text={target.url ?? ''} />],
            ['Speed', speed === 0 ? 'unlimited' : `${speed.toLocaleString('en')} events/s`],
          ]}
        />
        <p className="text-sm text-soft">
          {isProject
            ? 'You can pause the load at any time and undo it afterwards.'
            : 'You can pause the load at any time. It cannot be undone here, because another service stores the events.'}
        </p>
        <Trial load={load} />
      </div>
    </Section>
  );
}

function notLoaded({ totals }: Run, { duplicates }: CheckResult): string {
  const skipped = Object.values(totals.skipped).reduce((sum, count) => sum + count, 0);
  const parts = [
    [totals.rejected, `${totals.rejected.toLocaleString('en')} rejected`],
    [duplicates, counted(duplicates, 'duplicate')],
    [skipped, `${skipped.toLocaleString('en')} skipped`],
  ] as const;
  const words = parts.filter(([count]) => count > 0).map(([, text]) => text);
  return words.length === 0 ? 'none' : words.join(', ');
}

/** Loads a checked run, or the given number of records as a trial, and opens the run. */
export function useLoad(ids: RunIds, run: Run) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { projectId, configId } = ids;
  return useMutation({
    mutationFn: (limit: number | undefined) =>
      limit === undefined
        ? controlRun(ids, 'resume', loadBody(run))
        : startRun(projectId, configId, { ...loadBody(run), limit }),
    onSuccess: (started) => {
      // Without this the run page would show the cached check run, which has ended.
      client.setQueryData(runQuery({ ...ids, runId: started.id }).queryKey, started);
      void navigate({
        to: '/projects/$projectId/imports/$configId/runs/$runId',
        params: { projectId: String(projectId), configId: String(configId), runId: started.id },
        search: {},
      });
    },
  });
}

function Trial({ load }: Pick<LoadSectionProps, 'load'>) {
  const [records, setRecords] = useState('1000');
  const limit = Number(records);
  return (
    <details className="text-sm">
      <summary className="cursor-pointer font-medium">Start with a trial of a few records</summary>
      <div className="flex flex-wrap items-end gap-3 pt-3">
        <TextInput label="Records" inputMode="numeric" value={records} onChange={setRecords} />
        <Button
          disabled={!Number.isSafeInteger(limit) || limit < 1}
          busy={load.isPending && load.variables !== undefined}
          onClick={() => load.mutate(limit)}
        >
          Start trial
        </Button>
      </div>
    </details>
  );
}

interface AgreementProps {
  readonly projectId: number;
  /** Slug of the import app. */
  readonly source: string;
  /** Events that the check found. */
  readonly events: number;
}

/** Shows the limits for history and requests an agreement, where history is limited. */
export function AgreementSection(props: AgreementProps) {
  const settings = useQuery(historicalSettingsQuery(props.projectId));
  if (settings.error !== null && settings.data === undefined)
    return <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />;
  if (settings.data?.mode !== 'required') return null;
  return (
    <Section title="Historical agreement">
      <div className="flex flex-col gap-3 text-sm">
        <CurrentLimits settings={settings.data} events={props.events} />
        <RequestForm {...props} />
      </div>
    </Section>
  );
}

function CurrentLimits({ settings, events }: { readonly settings: HistoricalSettings; readonly events: number }) {
  const { agreement_in_force: inForce, events_per_second: speed, filed } = settings;
  const amount = (
    <>
      This import has <NumberText value={events} /> events; the project has{' '}
      <NumberText value={settings.historical_events} /> historical events.
    </>
  );
  return (
    <>
      {inForce === null ? (
        <Notice tone="warn">
          Without an agreement the import is limited to <NumberText value={settings.free_events_per_minute} /> events
          per minute and <NumberText value={settings.free_events_in_all} /> events in total. {amount}
        </Notice>
      ) : (
        <Notice tone="ok">
          An agreement is in force: up to <NumberText value={speed} /> events per second. {amount}
        </Notice>
      )}
      {filed > 0 && <Notice tone="info">{filed} waiting for approval. The import can start in the meantime.</Notice>}
    </>
  );
}

function RequestForm({ projectId, source, events }: AgreementProps) {
  const client = useQueryClient();
  const [speed, setSpeed] = useState('1000');
  const path = projectPath(projectId, 'historical_migrations');
  const perSecond = Number(speed);
  const submit = useMutation({
    mutationFn: () =>
      request(path, {
        method: 'POST',
        body: { source, method: 'import app', total_events: Math.max(1, events), events_per_second: perSecond },
      }),
    onSuccess: () => refresh(client, path),
  });
  return (
    <details>
      <summary className="cursor-pointer font-medium">Request an agreement</summary>
      <div className="flex flex-col items-start gap-3 pt-3">
        <TextInput label="Events per second" inputMode="numeric" value={speed} onChange={setSpeed} />
        <ErrorNote error={submit.error} />
        {submit.isSuccess && <Notice tone="ok">Request submitted. An administrator must approve it.</Notice>}
        <Button
          busy={submit.isPending}
          disabled={!Number.isSafeInteger(perSecond) || perSecond < 1 || submit.isSuccess}
          onClick={() => submit.mutate()}
        >
          Submit request
        </Button>
      </div>
    </details>
  );
}
