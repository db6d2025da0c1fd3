import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { runQuery, startRun, steerRun, type Run } from './imports-query.ts';
import { loadBody } from './run-actions.ts';
import { WizardFooter } from './wizard-footer.tsx';

interface StartStepProps {
  readonly projectId: number;
  readonly configId: number;
  /** The run that was checked. */
  readonly run: Run;
  /** Events that will be sent. */
  readonly events: number;
  readonly onBack: () => void;
  readonly onStarted: (run: Run) => void;
}

/** The load, as a whole or as a trial first. */
export function StartStep({ projectId, configId, run, events, onBack, onStarted }: StartStepProps) {
  const client = useQueryClient();
  const [records, setRecords] = useState('1000');
  const limit = Number(records);
  const place = { projectId, configId, runId: run.id };
  const start = useMutation({
    mutationFn: (kind: 'all' | 'trial') =>
      kind === 'all'
        ? steerRun(place, 'resume', loadBody(run))
        : startRun(projectId, configId, { last: 'report', limit }),
    onSuccess: (started) => {
      // The page of the run would take the one that was checked for it, which is over.
      client.setQueryData(runQuery({ ...place, runId: started.id }).queryKey, started);
      onStarted(started);
    },
  });
  const isLimit = Number.isSafeInteger(limit) && limit >= 1;
  return (
    <div className="flex flex-col gap-4">
      <Section title="Start">
        <p className="text-sm">
          <NumberText value={events} /> events of <NumberText value={run.totals.records} /> records will be sent;{' '}
          <NumberText value={run.totals.duplicates} /> duplicates and <NumberText value={run.totals.rejected} />{' '}
          rejected are skipped. You can pause the run, and undo it afterwards.
        </p>
      </Section>
      <details className="rounded-lg border border-line bg-surface p-4 text-sm">
        <summary className="cursor-pointer font-semibold">Try it with a few records first</summary>
        <div className="flex flex-wrap items-end gap-3 pt-3">
          <TextInput label="Records" inputMode="numeric" value={records} onChange={setRecords} />
          <Button
            disabled={!isLimit}
            busy={start.isPending && start.variables === 'trial'}
            onClick={() => start.mutate('trial')}
          >
            Start a trial
          </Button>
        </div>
      </details>
      <ErrorNote error={start.error} />
      <WizardFooter
        onBack={onBack}
        onNext={() => start.mutate('all')}
        next="Start the import"
        busy={start.isPending && start.variables === 'all'}
      />
    </div>
  );
}
