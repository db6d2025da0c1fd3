import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { refresh, rowsOf } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/checkbox.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Select } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { configsQuery, type Schedule, schedulesPath, setSchedule } from './imports-query.ts';
import { errorsOf, fieldsOf, type FormErrors, formOf, type ScheduleForm } from './schedule-form.ts';

interface ScheduleDialogProps {
  /** The schedule to edit, or `undefined` for a new one. */
  readonly schedule: Schedule | undefined;
  /** Ids of imports that already have a schedule. */
  readonly taken: ReadonlySet<number>;
  readonly onClose: () => void;
}

/** Creates or edits the schedule of an import. */
export function ScheduleDialog({ schedule, taken, onClose }: ScheduleDialogProps) {
  const { id: projectId, timezone } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const [config, setConfig] = useState(schedule === undefined ? '' : String(schedule.plugin_config));
  const [form, setForm] = useState(() => formOf(schedule));
  const [isSubmitted, setIsSubmitted] = useState(false);
  const errors = errorsOf(form);
  const save = useMutation({
    mutationFn: () => setSchedule(projectId, Number(config), fieldsOf(form, timezone)),
    onSuccess: async () => {
      toast.done(schedule === undefined ? 'Schedule created.' : 'Schedule saved.');
      onClose();
      await refresh(client, schedulesPath(projectId));
    },
  });
  const submit = (): void => {
    setIsSubmitted(true);
    if (Object.keys(errors).length === 0) save.mutate();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={schedule === undefined ? 'New schedule' : 'Edit schedule'}
      description="Each run imports what is new since the last completed run."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={save.isPending} disabled={config === ''} onClick={submit}>
            Save schedule
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {schedule === undefined ? (
          <ImportSelect value={config} taken={taken} onChange={setConfig} />
        ) : (
          <p className="text-sm">
            <UserText text={schedule.config_name} charsMax={80} short />
          </p>
        )}
        <TimingFields form={form} errors={isSubmitted ? errors : {}} timezone={timezone} onChange={setForm} />
        <TextInput
          label={schedule === undefined ? 'Start' : 'Restart from'}
          type="datetime-local"
          step={1}
          value={form.from}
          onChange={(from) => setForm({ ...form, from })}
          hint={`${schedule === undefined ? 'Leave empty to start now' : 'Leave empty to continue from the last run'}. Time zone: ${timezone}.`}
        />
        <Checkbox
          label="Paused"
          checked={form.paused}
          onChange={(paused) => setForm({ ...form, paused })}
          hint="No runs start while paused. After resuming, one run catches up."
        />
        <ErrorNote error={save.error} />
      </div>
    </Dialog>
  );
}

const timings = [
  { value: 'every', label: 'At an interval' },
  { value: 'daily', label: 'Once a day' },
] as const;

interface TimingFieldsProps {
  readonly form: ScheduleForm;
  readonly errors: FormErrors;
  readonly timezone: string;
  readonly onChange: (form: ScheduleForm) => void;
}

function TimingFields({ form, errors, timezone, onChange }: TimingFieldsProps) {
  return (
    <>
      <Select label="When" value={form.timing} choices={timings} onChange={(timing) => onChange({ ...form, timing })} />
      {form.timing === 'every' ? (
        <TextInput
          label="Minutes between runs"
          inputMode="numeric"
          value={form.every}
          onChange={(every) => onChange({ ...form, every })}
          hint="Runs start at multiples of the interval: 60 is every full hour, 1440 every day."
          error={errors.every}
          required
        />
      ) : (
        <TextInput
          label="Time of day"
          type="time"
          value={form.daily}
          onChange={(daily) => onChange({ ...form, daily })}
          hint={`Time zone: ${timezone}.`}
          error={errors.daily}
          required
        />
      )}
      <TextInput
        label="Overlap in minutes"
        inputMode="numeric"
        value={form.overlap}
        onChange={(overlap) => onChange({ ...form, overlap })}
        hint="How far each run reaches back for late data. Events already stored are not duplicated."
        error={errors.overlap}
        required
      />
    </>
  );
}

interface ImportSelectProps {
  readonly value: string;
  readonly taken: ReadonlySet<number>;
  readonly onChange: (value: string) => void;
}

function ImportSelect({ value, taken, onChange }: ImportSelectProps) {
  const { id } = useProject();
  const configs = useInfiniteQuery(configsQuery(id));
  const free = rowsOf(configs.data).filter((config) => !taken.has(config.id));
  return (
    <Select
      label="Import"
      value={value}
      choices={[
        { value: '', label: configs.isPending ? 'Loading' : 'Select an import' },
        ...free.map((config) => ({ value: String(config.id), label: `${config.name.slice(0, 60)} (${config.id})` })),
      ]}
      onChange={onChange}
      hint="The source must support time ranges: a database with a cursor column, Kafka, or the API of another service."
    />
  );
}
