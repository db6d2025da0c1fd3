import { useBlocker } from '@tanstack/react-router';
import { ConfirmDialog } from './confirm-dialog.tsx';

/** While `dirty`, asks before leaving the page: with a dialog inside the console, with the browser's prompt otherwise. */
export function UnsavedGuard({ dirty }: { readonly dirty: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => dirty && current.pathname !== next.pathname,
    enableBeforeUnload: dirty,
    withResolver: true,
  });
  return (
    <ConfirmDialog
      open={status === 'blocked'}
      onClose={() => reset?.()}
      onConfirm={() => proceed?.()}
      title="Leave without saving?"
      confirm="Leave"
    >
      <p>Your unsaved changes on this page will be lost.</p>
    </ConfirmDialog>
  );
}
