import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { JsonDiff } from '../../components/json-diff.tsx';
import { useToast } from '../../components/toasts.tsx';
import { refresh } from '../../api/queries.ts';
import { useProject } from '../../shell/project-context.tsx';
import type { PlanDraft } from './plan-form.ts';
import { planPath, savePlan } from './plan-queries.ts';

interface SaveDialogProps {
  readonly open: boolean;
  readonly before: PlanDraft;
  readonly draft: PlanDraft;
  /** Version that was changed. */
  readonly version: number;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

/** Shows what changes, then saves it. */
export function SaveDialog({ open, before, draft, version, onClose, onSaved }: SaveDialogProps) {
  const { id } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const save = useMutation({
    mutationFn: () => savePlan(id, draft, version),
    onSuccess: async (saved) => {
      await refresh(client, planPath(id));
      toast.done(`Saved version ${saved.version}. It applies within seconds.`);
      onSaved();
      onClose();
    },
  });
  return (
    <Dialog
      open={open}
      onClose={() => {
        save.reset();
        onClose();
      }}
      size="large"
      title="Save the tracking plan"
      description="Events are validated by the saved plan within seconds, in all processes."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={save.isPending} onClick={() => save.mutate()}>
            Save plan
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <ErrorNote error={save.error} />
        <JsonDiff
          before={before}
          after={draft}
          beforeLabel="Saved plan"
          afterLabel="This draft"
          label="Changes of the plan"
        />
      </div>
    </Dialog>
  );
}
