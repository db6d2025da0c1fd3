import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { refresh, projectPath } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { transformationPath, transformationsPath, type Transformation } from './transformation-queries.ts';

interface RestoreButtonProps {
  readonly config: Transformation;
  readonly at: string;
  readonly onDone: () => void;
}

/** The config becomes as it stood at a time; that is one more change of its history. */
export function RestoreButton({ config, at, onDone }: RestoreButtonProps) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const [asked, setAsked] = useState(false);
  const restore = useMutation({
    mutationFn: () => request(`${transformationPath(projectId, config.id)}/restore`, { method: 'POST', body: { at } }),
    onSuccess: async () => {
      setAsked(false);
      await refresh(client, transformationsPath(projectId));
      await refresh(client, projectPath(projectId, 'activity_log'));
      toast.done('Restored. The state from before stands in the history.');
      onDone();
    },
  });
  return (
    <>
      <Button kind="primary" size="small" onClick={() => setAsked(true)}>
        Restore
      </Button>
      <ConfirmDialog
        open={asked}
        onClose={() => setAsked(false)}
        onConfirm={() => restore.mutate()}
        title="Restore this state?"
        confirm="Restore"
        danger={false}
        busy={restore.isPending}
        error={restore.error}
      >
        <p>
          Settings, name, description, plugin version and whether it is on become as they stood at{' '}
          <TimeText time={at} form="exact" />. Its place in the chain stays. Secrets keep their present values. This is
          one more change in the history and can be taken back in the same way.
        </p>
      </ConfirmDialog>
    </>
  );
}
