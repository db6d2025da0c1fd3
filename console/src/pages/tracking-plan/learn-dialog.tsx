import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { PlanLearnResult } from '../../../../src/wire/contract/tracking-plan.ts';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/checkbox.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { JsonDiff } from '../../components/json-diff.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { draftOf, mergeLearned, type PlanDraft } from './plan-form.ts';
import { learnPlan } from './plan-queries.ts';

interface LearnDialogProps {
  readonly open: boolean;
  readonly draft: PlanDraft;
  readonly onClose: () => void;
  readonly onUse: (draft: PlanDraft) => void;
}

const sampleDefault = '100000';

/** Drafts a plan from stored events. Nothing is saved: the draft is shown as a difference, and continues in the editor. */
export function LearnDialog({ open, draft, onClose, onUse }: LearnDialogProps) {
  const { id } = useProject();
  const [form, setForm] = useState({ after: '', before: '', sample: sampleDefault, replace: false });
  const sample = sampleOf(form);
  const learn = useMutation({
    mutationFn: () =>
      learnPlan(id, {
        after: form.after || undefined,
        before: form.before || undefined,
        sample: sample ?? 1,
        replace: form.replace,
      }),
  });
  const next = learn.data && mergeLearned(draft, draftOf(learn.data.draft), form.replace);
  const close = (): void => {
    learn.reset();
    onClose();
  };
  return (
    <Dialog
      open={open}
      onClose={close}
      size="large"
      title="Learn from stored events"
      description="Reads stored events and drafts names, types, required properties and allowed values. Nothing is saved."
      footer={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button busy={learn.isPending} disabled={sample === undefined} onClick={() => learn.mutate()}>
            {learn.data === undefined ? 'Learn' : 'Learn again'}
          </Button>
          <Button
            kind="primary"
            disabled={next === undefined}
            onClick={() => {
              if (next !== undefined) onUse(next);
              close();
            }}
          >
            Use this draft
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <LearnFields form={form} onChange={setForm} />
        <ErrorNote error={learn.error} />
        {learn.data !== undefined && next !== undefined && <Learned result={learn.data} before={draft} after={next} />}
      </div>
    </Dialog>
  );
}

interface LearnForm {
  readonly after: string;
  readonly before: string;
  readonly sample: string;
  readonly replace: boolean;
}

/** Returns the number of events to read; `undefined` if it is not one. */
function sampleOf({ sample }: LearnForm): number | undefined {
  const count = Number(sample);
  return Number.isSafeInteger(count) && count > 0 ? count : undefined;
}

function LearnFields({ form, onChange }: { readonly form: LearnForm; readonly onChange: (form: LearnForm) => void }) {
  return (
    <>
      <div className="grid gap-3 sm:grid-cols-3">
        <TextInput
          label="From"
          placeholder="2026-11-01"
          hint="Default: the first event."
          value={form.after}
          onChange={(after) => onChange({ ...form, after })}
        />
        <TextInput
          label="Until"
          placeholder="2026-11-28"
          value={form.before}
          onChange={(before) => onChange({ ...form, before })}
        />
        <TextInput
          label="Events to read"
          inputMode="numeric"
          hint="All, if there are no more."
          error={sampleOf(form) !== undefined ? undefined : 'Expected a whole number such as 100000.'}
          value={form.sample}
          onChange={(text) => onChange({ ...form, sample: text })}
        />
      </div>
      <Checkbox
        label="Learn events of the plan again"
        hint="Otherwise only missing events and properties are added."
        checked={form.replace}
        onChange={(replace) => onChange({ ...form, replace })}
      />
    </>
  );
}

interface LearnedProps {
  readonly result: PlanLearnResult;
  readonly before: PlanDraft;
  readonly after: PlanDraft;
}

function Learned({ result: { sampled, total, left_out: leftOut }, before, after }: LearnedProps) {
  return (
    <div className="flex flex-col gap-3" aria-live="polite">
      <p className="text-sm">
        Read <NumberText value={sampled} /> of <NumberText value={total} /> events.
      </p>
      {leftOut.length > 0 && (
        <p className="text-sm text-warn">
          Not in the draft, because the plan would be too large: <UserText text={leftOut.slice(0, 10).join(', ')} />
        </p>
      )}
      <JsonDiff before={before} after={after} beforeLabel="Plan" afterLabel="Draft" label="What the draft changes" />
    </div>
  );
}
