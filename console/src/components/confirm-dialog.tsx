import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorNote } from './error-note.tsx';

interface ConfirmDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
  readonly title: ReactNode;
  /** Describes the effect and whether it can be undone. */
  readonly children: ReactNode;
  /** Label of the confirm button, a verb: "Delete key". */
  readonly confirm: string;
  readonly danger?: boolean;
  readonly busy?: boolean;
  readonly error?: unknown;
}

/** Asks before an action that cannot be undone. Closing it cancels. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { open, onClose, onConfirm, title, children, confirm, danger = true, busy = false, error } = props;
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={title}
      size="small"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind={danger ? 'danger' : 'primary'} busy={busy} onClick={onConfirm}>
            {confirm}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3 text-sm">
        {children}
        <ErrorNote error={error} />
      </div>
    </Dialog>
  );
}
