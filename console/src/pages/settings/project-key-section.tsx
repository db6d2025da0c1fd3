import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Section } from '../../components/section.tsx';
import { useToast } from '../../components/toasts.tsx';
import { useMay, useProject } from '../../shell/project-context.tsx';
import { resetProjectKey } from './project-change.ts';

/** The key that client libraries send events with. */
export function ProjectKeySection() {
  const { id, api_token: key } = useProject();
  const mayChange = useMay('admin');
  const client = useQueryClient();
  const toast = useToast();
  const [asked, setAsked] = useState(false);
  const reset = useMutation({
    mutationFn: () => resetProjectKey(id),
    onSuccess: async () => {
      await refresh(client, '/api/projects');
      setAsked(false);
      toast.done('The project has a new key: the old one is refused.');
    },
  });
  return (
    <Section
      title="Project key"
      description="Client libraries send events with it. It is public: it can do nothing else."
      actions={mayChange && <Button onClick={() => setAsked(true)}>Reset key</Button>}
    >
      <CodeBlock code={key} label="Copy project key" />
      <ConfirmDialog
        open={asked}
        onClose={() => setAsked(false)}
        onConfirm={() => reset.mutate()}
        title="Give the project a new key?"
        confirm="Reset key"
        busy={reset.isPending}
        error={reset.error}
      >
        <p>
          Every program and page that sends events with the present key is refused at once, and loses what it sends.
        </p>
      </ConfirmDialog>
    </Section>
  );
}
