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
import { faultsOf, fieldsOf, type FormFaults, formOf, type ScheduleForm } from './schedule-form.ts';

interface ScheduleDialogProps {
  /** The one that is edited; undefined: a new one. */
  readonly schedule: Schedule | undefined;
  /** Ids of imports that have one. */
  readonly taken: ReadonlySet<number>;
  readonly onClose: () => void;
}

/** When an import runs by itself. */
export function ScheduleDialog({ schedule, taken, onClose }: ScheduleDialogProps) {
  const { id: projectId, timezone } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const [config, setConfig] = useState(schedule === undefined ? '' : String(schedule.plugin_config));
  const [form, setForm] = useState(() => formOf(schedule));
  const [isAsked, setIsAsked] = useState(false);
  const faults = faultsOf(form);
  const save = useMutation({
    mutationFn: () => setSchedule(projectId, Number(config), fieldsOf(form, timezone)),
    onSuccess: async () => {
      toast.done(schedule === undefined ? 'It runs by itself from now on.' : 'Saved.');
      onClose();
      await refresh(client, schedulesPath(projectId));
    },
  });
  const submit = (): void => {
    setIsAsked(true);
    if (Object.keys(faults).length === 0) save.mutate();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={schedule === undefined ? 'New schedule' : 'Edit the schedule'}
      description="Each run brings what is new since the last one that was completed."
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
        <TimingFields form={form} faults={isAsked ? faults : {}} timezone={timezone} onChange={setForm} />
        <TextInput
          label={schedule === undefined ? 'Begins' : 'Begin anew'}
          type="datetime-local"
          step={1}
          value={form.from}
          onChange={(from) => setForm({ ...form, from })}
          hint={`${schedule === undefined ? 'Empty: now' : 'Empty: it goes on where it had come to'}. Clocks of ${timezone}.`}
        />
        <Checkbox
          label="Paused"
          checked={form.paused}
          onChange={(paused) => setForm({ ...form, paused })}
          hint="Nothing is started; afterwards one run makes up for what was missed."
        />
        <ErrorNote error={save.error} />
      </div>
    </Dialog>
  );
}

const timings = [
  { value: 'every', label: 'Every so many minutes' },
  { value: 'daily', label: 'Once a day' },
] as const;

interface TimingFieldsProps {
  readonly form: ScheduleForm;
  readonly faults: FormFaults;
  readonly timezone: string;
  readonly onChange: (form: ScheduleForm) => void;
}

function TimingFields({ form, faults, timezone, onChange }: TimingFieldsProps) {
  return (
    <>
      <Select label="When" value={form.timing} choices={timings} onChange={(timing) => onChange({ ...form, timing })} />
      {form.timing === 'every' ? (
        <TextInput
          label="Minutes between runs"
          inputMode="numeric"
          value={form.every}
          onChange={(every) => onChange({ ...form, every })}
          hint="At multiples of it: with 60 at each full hour. 1440 is a day."
          error={faults.every}
          required
        />
      ) : (
        <TextInput
          label="Time of day"
          type="time"
          value={form.daily}
          onChange={(daily) => onChange({ ...form, daily })}
          hint={`By the clocks of ${timezone}.`}
          error={faults.daily}
          required
        />
      )}
      <TextInput
        label="Overlap in minutes"
        inputMode="numeric"
        value={form.overlap}
        onChange={(overlap) => onChange({ ...form, overlap })}
        hint="How far a run reaches back for data that came late. What is there already is not stored twice."
        error={faults.overlap}
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
        { value: '', label: configs.isPending ? 'Loading' : 'Choose an import' },
        ...free.map((config) => ({ value: String(config.id), label: `${config.name.slice(0, 60)} (${config.id})` })),
      ]}
      onChange={onChange}
      hint="Its source has to be able to choose by time: a database with a cursor column, Kafka, or the API of another service."
    />
  );
}
