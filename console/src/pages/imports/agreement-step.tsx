import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Static } from 'typebox';
import { useState } from 'react';
import type { historicalSettingsSchema } from '../../../../src/wire/contract/historical-settings.ts';
import { apiQuery, projectPath, refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { WizardFooter } from './wizard-footer.tsx';

type HistoricalSettings = Static<typeof historicalSettingsSchema>;

interface AgreementStepProps {
  readonly projectId: number;
  /** Slug of the import app. */
  readonly source: string;
  /** Events that the check found. */
  readonly events: number;
  readonly onBack: () => void;
  readonly onDone: () => void;
}

/** How fast history may come into the project, and how to ask for more. */
export function AgreementStep({ projectId, source, events, onBack, onDone }: AgreementStepProps) {
  const settings = useQuery(apiQuery<HistoricalSettings>(projectPath(projectId, 'historical_migrations/settings')));
  if (settings.data === undefined) {
    return settings.error === null ? (
      <Loading label="Loading the agreement" />
    ) : (
      <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />
    );
  }
  return (
    <div className="flex flex-col gap-4">
      <Section title="Historical agreement">
        <div className="flex flex-col gap-3 text-sm">
          <Stands settings={settings.data} events={events} />
          <AskFor projectId={projectId} source={source} events={events} />
        </div>
      </Section>
      <WizardFooter onBack={onBack} onNext={onDone} next="Continue to the start" />
    </div>
  );
}

function Stands({ settings, events }: { readonly settings: HistoricalSettings; readonly events: number }) {
  const { mode, agreement_in_force: inForce, events_per_second: speed, filed } = settings;
  const amount = (
    <>
      This import brings <NumberText value={events} /> events; the project has{' '}
      <NumberText value={settings.historical_events} /> historical events so far.
    </>
  );
  if (mode === 'optional')
    return <Notice tone="ok">This service does not limit history: no agreement is needed. {amount}</Notice>;
  return (
    <>
      {inForce === null ? (
        <Notice tone="warn">
          No agreement is in force: the import runs at up to <NumberText value={settings.free_events_per_minute} />{' '}
          events a minute, up to <NumberText value={settings.free_events_in_all} /> in all. {amount}
        </Notice>
      ) : (
        <Notice tone="ok">
          An agreement is in force: up to <NumberText value={speed} /> events a second. {amount}
        </Notice>
      )}
      {filed > 0 && (
        <Notice tone="info">{filed} filed: waiting for an operator. The import can start meanwhile.</Notice>
      )}
    </>
  );
}

function AskFor({ projectId, source, events }: Pick<AgreementStepProps, 'projectId' | 'source' | 'events'>) {
  const client = useQueryClient();
  const [speed, setSpeed] = useState('1000');
  const path = projectPath(projectId, 'historical_migrations');
  const perSecond = Number(speed);
  const ask = useMutation({
    mutationFn: () =>
      request(path, {
        method: 'POST',
        body: { source, method: 'import app', total_events: Math.max(1, events), events_per_second: perSecond },
      }),
    onSuccess: () => refresh(client, path),
  });
  return (
    <details>
      <summary className="cursor-pointer font-medium">Ask for an agreement</summary>
      <div className="flex flex-col items-start gap-3 pt-3">
        <TextInput label="Events per second" inputMode="numeric" value={speed} onChange={setSpeed} />
        <ErrorNote error={ask.error} />
        {ask.isSuccess && <Notice tone="ok">It is filed: an operator decides on it.</Notice>}
        <Button
          busy={ask.isPending}
          disabled={!Number.isSafeInteger(perSecond) || perSecond < 1 || ask.isSuccess}
          onClick={() => ask.mutate()}
        >
          File the request
        </Button>
      </div>
    </details>
  );
}
