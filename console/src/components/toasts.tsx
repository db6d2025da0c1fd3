import { Toast } from '@base-ui/react/toast';
import { X } from 'lucide-react';
import { useMemo, type ReactNode } from 'react';
import { classNames } from './class-names.ts';
import { errorText } from './error-text.ts';
import { UserText } from './user-text.tsx';

interface ToastActions {
  /** Reports a completed action; `undo` adds an Undo button. */
  done(message: string, undo?: () => void): void;
  /** Reports a failed action: a sentence or the thrown error. */
  error(error: unknown): void;
}

/** Returns functions that show short messages about actions. */
export function useToast(): ToastActions {
  const { add } = Toast.useToastManager();
  return useMemo(
    () => ({
      done: (message, undo) =>
        void add({
          title: message,
          type: 'done',
          ...(undo === undefined ? {} : { actionProps: { children: 'Undo', onClick: undo } }),
        }),
      error: (error) =>
        void add({
          title: typeof error === 'string' ? error : errorText(error).title,
          type: 'error',
          priority: 'high',
          timeout: 10_000,
        }),
    }),
    [add],
  );
}

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  return (
    <Toast.Provider limit={4}>
      {children}
      <Toast.Portal>
        <Toast.Viewport
          aria-label="Messages"
          className="fixed right-3 bottom-3 z-50 flex w-[min(24rem,calc(100vw-1.5rem))] flex-col gap-2"
        >
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className={classNames(
        'flex items-center gap-3 rounded-lg border bg-surface px-3 py-2.5 text-sm shadow-float',
        toast.type === 'error' ? 'border-danger' : 'border-line',
      )}
    >
      <Toast.Title className="min-w-0 flex-1">
        {typeof toast.title === 'string' ? <UserText text={toast.title} /> : toast.title}
      </Toast.Title>
      <Toast.Action className="font-medium text-accent" />
      <Toast.Close aria-label="Close" className="rounded p-1 text-soft hover:bg-hover">
        <X aria-hidden="true" className="size-4" />
      </Toast.Close>
    </Toast.Root>
  ));
}
