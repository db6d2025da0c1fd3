import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { projectPath, refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { type HistoricalSettings, historicalSettingsQuery } from './imports-query.ts';
import { WizardFooter } from './wizard-footer.tsx';

interface AgreementStepProps {
  readonly projectId: number;
  /** Slug of the import app. */
  readonly source: string;
  /** Events that the check found. */
  readonly events: number;
  readonly onBack: () => void;
  readonly onDone: () => void;
}

/** Shows the limits for history and requests an agreement. Skipped where history is not limited. */
export function AgreementStep({ projectId, source, events, onBack, onDone }: AgreementStepProps) {
  const settings = useQuery(historicalSettingsQuery(projectId));
  if (settings.data === undefined) {
    return settings.error === null ? (
      <Loading label="Loading agreement" />
    ) : (
      <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />
    );
  }
  return (
    <div className="flex flex-col gap-4">
      <Section title="Historical agreement">
        <div className="flex flex-col gap-3 text-sm">
          <CurrentLimits settings={settings.data} events={events} />
          <RequestForm projectId={projectId} source={source} events={events} />
        </div>
      </Section>
      <WizardFooter onBack={onBack} onNext={onDone} next="Continue to start" />
    </div>
  );
}

function CurrentLimits({ settings, events }: { readonly settings: HistoricalSettings; readonly events: number }) {
  const { mode, agreement_in_force: inForce, events_per_second: speed, filed } = settings;
  const amount = (
    <>
      This import has <NumberText value={events} /> events; the project has{' '}
      <NumberText value={settings.historical_events} /> historical events.
    </>
  );
  if (mode === 'optional') return <Notice tone="ok">This service does not limit historical imports. {amount}</Notice>;
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

function RequestForm({ projectId, source, events }: Pick<AgreementStepProps, 'projectId' | 'source' | 'events'>) {
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
        {submit.isSuccess && <Notice tone="ok">Request submitted. An administrator has to approve it.</Notice>}
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
