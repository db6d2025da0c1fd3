import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { TextArea } from '../../components/text-area.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { useToast } from '../../components/toasts.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { agreementsPath, fileAgreement } from './agreements-query.ts';

interface FileAgreementDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
}

/** A form that starts afresh each time it is opened. */
export function FileAgreementDialog({ open, onClose }: FileAgreementDialogProps) {
  return open ? <FileAgreementForm onClose={onClose} /> : null;
}

function FileAgreementForm({ onClose }: Omit<FileAgreementDialogProps, 'open'>) {
  const { id } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const [source, setSource] = useState('');
  const [method, setMethod] = useState('Import in the console');
  const [total, setTotal] = useState('');
  const [speed, setSpeed] = useState('1000');
  const [note, setNote] = useState('');
  const file = useMutation({
    mutationFn: () =>
      fileAgreement(id, {
        source: source.trim(),
        method: method.trim(),
        total_events: Number(total),
        events_per_second: Number(speed),
        note,
      }),
    onSuccess: async () => {
      onClose();
      toast.done('Filed: it waits for an admin.');
      await refresh(client, agreementsPath(id));
    },
  });
  const complete = source.trim() !== '' && method.trim() !== '' && isWhole(total) && isWhole(speed);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Request an agreement"
      description="How much history comes from where, and how fast."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={file.isPending} disabled={!complete} onClick={() => file.mutate()}>
            File the request
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <TextInput
          label="Source"
          hint="The tool that is left."
          value={source}
          onChange={setSource}
          maxLength={400}
          required
        />
        <TextInput label="How it is sent" value={method} onChange={setMethod} maxLength={400} required />
        <CountInput label="Events in all" value={total} onChange={setTotal} />
        <CountInput label="Highest speed, events per second" value={speed} onChange={setSpeed} />
        <TextArea label="Note" value={note} onChange={setNote} maxLength={1000} rows={3} />
        <ErrorNote error={file.error} />
      </div>
    </Dialog>
  );
}

interface CountInputProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function CountInput({ label, value, onChange }: CountInputProps) {
  const error = value === '' || isWhole(value) ? undefined : 'Expected a whole number above 0.';
  return <TextInput label={label} inputMode="numeric" value={value} onChange={onChange} required error={error} />;
}

function isWhole(text: string): boolean {
  return /^[1-9]\d{0,12}$/.test(text.trim());
}
