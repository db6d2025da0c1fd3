import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { RetentionPolicy, RetentionPreview, RetentionRecord } from '../../../../src/wire/contract/retention.ts';
import { apiQuery, projectPath, refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { Loading } from '../../components/loading.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UnsavedGuard } from '../../components/unsaved-guard.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { daysFault, formOf, nameFault, policyOf, type RetentionForm, type RuleForm } from './retention-form.ts';
import { RetentionPreviewDialog } from './retention-preview-dialog.tsx';

/** How long the events of the project are kept, and everything else that the service keeps. */
export function RetentionSection() {
  const { id } = useProject();
  const { data, error, refetch } = useQuery(retentionQuery(id));
  return (
    <Section
      title="Retention"
      description="How long stored events are kept, by the time of the event. Older ones are removed permanently, once a night."
    >
      {data !== undefined && <RetentionContent key={data.updated_at} record={data} />}
      {data === undefined &&
        (error === null ? <Loading /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
    </Section>
  );
}

function RetentionContent({ record }: { readonly record: RetentionRecord }) {
  return (
    <div className="flex flex-col gap-6">
      <PolicyForm record={record} />
      <Facts facts={passFacts(record)} />
      <div className="flex flex-col gap-2">
        <h3 className="text-sm font-medium">Kept by the service, for all projects</h3>
        <Facts facts={serviceFacts(record)} />
      </div>
    </div>
  );
}

function PolicyForm({ record }: { readonly record: RetentionRecord }) {
  const canEdit = useHasRole('admin');
  const [form, setForm] = useState(() => formOf(record));
  const [previewing, setPreviewing] = useState<RetentionPolicy>();
  const save = useSave(() => setPreviewing(undefined));
  const policy = policyOf(form);
  const dirty = JSON.stringify(form) !== JSON.stringify(formOf(record));
  return (
    <form
      className="flex max-w-3xl flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        save.reset();
        setPreviewing(policy);
      }}
    >
      <UnsavedGuard dirty={dirty && !save.isPending} />
      <div className="grid gap-4 sm:grid-cols-2">
        <DaysInput
          label="Days of live events"
          value={form.live}
          onChange={(live) => setForm({ ...form, live })}
          disabled={!canEdit}
        />
        <DaysInput
          label="Days of historical events"
          value={form.historical}
          onChange={(historical) => setForm({ ...form, historical })}
          disabled={!canEdit}
        />
      </div>
      <Rules form={form} onChange={setForm} disabled={!canEdit} />
      {canEdit && (
        <div>
          <Button kind="primary" type="submit" disabled={policy === undefined}>
            Preview
          </Button>
        </div>
      )}
      {previewing !== undefined && (
        <RetentionPreviewDialog
          policy={previewing}
          canSave={dirty}
          saving={save.isPending}
          error={save.error}
          onClose={() => setPreviewing(undefined)}
          onSave={(preview) => save.mutate({ policy: previewing, preview })}
        />
      )}
    </form>
  );
}

interface RulesProps {
  readonly form: RetentionForm;
  readonly onChange: (form: RetentionForm) => void;
  readonly disabled: boolean;
}

/** Names with other days than the project. */
function Rules({ form, onChange, disabled }: RulesProps) {
  const { rules } = form;
  const change = (rule: RuleForm): void =>
    onChange({ ...form, rules: rules.map((each) => (each.id === rule.id ? rule : each)) });
  const add = (): void => {
    const id = Math.max(-1, ...rules.map((rule) => rule.id)) + 1;
    onChange({ ...form, rules: [...rules, { id, event: '', live: '', historical: '' }] });
  };
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-1 text-sm font-medium">Event names with other days</legend>
      {rules.length === 0 && <p className="text-sm text-soft">None: all names are kept as above.</p>}
      {rules.map((rule, at) => (
        <div key={rule.id} className="grid items-start gap-2 sm:grid-cols-[2fr_1fr_1fr_auto]">
          <TextInput
            label={`Event name ${at + 1}`}
            value={rule.event}
            onChange={(event) => change({ ...rule, event })}
            error={nameFault(form, rule)}
            maxLength={200}
            disabled={disabled}
          />
          <DaysInput
            label={`Live days ${at + 1}`}
            value={rule.live}
            onChange={(live) => change({ ...rule, live })}
            disabled={disabled}
          />
          <DaysInput
            label={`Historical days ${at + 1}`}
            value={rule.historical}
            onChange={(historical) => change({ ...rule, historical })}
            disabled={disabled}
          />
          {!disabled && (
            <div className="sm:pt-6">
              <Button
                size="small"
                onClick={() => onChange({ ...form, rules: rules.filter((each) => each.id !== rule.id) })}
              >
                <span aria-hidden="true">Remove</span>
                <span className="sr-only">Remove event name {at + 1}</span>
              </Button>
            </div>
          )}
        </div>
      ))}
      {!disabled && (
        <div>
          <Button size="small" onClick={add}>
            Add event name
          </Button>
        </div>
      )}
    </fieldset>
  );
}

interface DaysInputProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly disabled: boolean;
}

function DaysInput({ value, ...props }: DaysInputProps) {
  return <TextInput {...props} value={value} error={daysFault(value)} inputMode="numeric" placeholder="Forever" />;
}

function passFacts({ next_pass_at: next, last_pass: last }: RetentionRecord): Parameters<typeof Facts>[0]['facts'] {
  return [
    ['Next removal', next === null ? 'None: all events are kept' : <TimeText key="next" time={next} />],
    [
      'Last removal',
      last === null ? (
        'None yet'
      ) : (
        <span key="last">
          <TimeText time={last.ended_at} />: <NumberText value={last.dropped_rows + last.deleted_rows} /> rows, about{' '}
          <NumberText value={last.bytes} unit="bytes" />
        </span>
      ),
    ],
  ];
}

/** Ages that apply to all projects, which an operator sets. */
function serviceFacts({ service }: RetentionRecord): Parameters<typeof Facts>[0]['facts'] {
  const days = (count: number, zero: string): string => (count === 0 ? zero : `${count.toLocaleString('en')} days`);
  return [
    ['Dead letters', days(service.dead_letter_days, 'until the project is deleted')],
    ['Hourly counts', days(service.count_days, 'forever')],
    ['Activity log', days(service.activity_days, 'forever')],
    ['Plugin logs', days(service.plugin_log_days, 'forever')],
    ['Uploads for imports', days(service.import_upload_days, 'until they are deleted')],
    ['Staged records of ended runs', days(service.import_keep_days, 'not kept')],
    ['Scheduled runs', days(service.import_run_days, 'forever')],
  ];
}

interface Save {
  readonly policy: RetentionPolicy;
  readonly preview: RetentionPreview;
}

function useSave(onDone: () => void) {
  const { id } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  return useMutation({
    mutationFn: ({ policy, preview }: Save) =>
      request<RetentionRecord>(retentionPath(id), {
        method: 'PUT',
        body: { ...policy, expected_events: preview.events },
      }),
    onSuccess: async () => {
      onDone();
      await refresh(client, retentionPath(id));
      toast.done('Retention saved. It applies from the next night on.');
    },
  });
}

const retentionPath = (id: number): string => projectPath(id, 'retention');
const retentionQuery = (id: number) => apiQuery<RetentionRecord>(retentionPath(id));
