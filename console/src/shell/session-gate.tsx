import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore, type ReactNode } from 'react';
import { Dialog as Base } from '@base-ui/react/dialog';
import { isSignedOut } from '../api/api-error.ts';
import { meQuery } from '../api/me.ts';
import { ErrorState } from '../components/error-state.tsx';
import type { SessionState } from './session-state.ts';
import { SignInForm } from './sign-in-form.tsx';

interface SessionGateProps {
  readonly session: SessionState;
  readonly children: ReactNode;
}

/** While nobody is signed in: signing in with a link happens in another tab, and this one notices. */
const awaitingMs = 3_000;
/** A page that asks for nothing by itself notices, too, that the session has ended. */
const calmMs = 15_000;

/** Sign-in in place of the page at the start, and above the page when the session ends later: what was typed stays. */
export function SessionGate({ session, children }: SessionGateProps) {
  const expired = useSyncExternalStore(session.subscribe, session.isExpired);
  const client = useQueryClient();
  const me = useQuery({
    ...meQuery,
    staleTime: Infinity,
    refetchInterval: ({ state }) => (expired || state.error !== null ? awaitingMs : calmMs),
  });
  const answeredAt = me.dataUpdatedAt;
  useEffect(() => {
    if (!me.isSuccess || !session.isExpired()) return;
    session.renew();
    void client.invalidateQueries();
  }, [answeredAt, me.isSuccess, client, session]);
  const signedIn = (): void => void me.refetch();
  if (me.data === undefined && isSignedOut(me.error)) return <SignInPage onSignedIn={signedIn} />;
  if (me.data === undefined && me.error !== null) {
    return <ErrorState error={me.error} onRetry={() => void me.refetch()} busy={me.isFetching} />;
  }
  return (
    <>
      {me.data !== undefined && children}
      {expired && me.data !== undefined && <SignInOverlay onSignedIn={signedIn} />}
    </>
  );
}

function SignInPage({ onSignedIn }: { readonly onSignedIn: () => void }) {
  useEffect(() => {
    document.title = 'Sign in · Millrace';
  }, []);
  return (
    <main className="mx-auto flex min-h-dvh w-full max-w-md flex-col justify-center gap-6 p-4">
      <div className="flex items-center gap-3">
        <img src="/console/icon.svg" alt="" className="size-9" />
        <h1 className="text-xl font-semibold tracking-tight">Sign in to Millrace</h1>
      </div>
      <div className="rounded-xl border border-line bg-surface p-5">
        <SignInForm onSignedIn={onSignedIn} />
      </div>
    </main>
  );
}

/** It has no way to be closed but signing in: below it nothing can be saved. */
function SignInOverlay({ onSignedIn }: { readonly onSignedIn: () => void }) {
  return (
    <Base.Root open>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-50 bg-black/50" />
        <Base.Popup className="fixed top-1/2 left-1/2 z-50 max-h-[90dvh] w-[min(28rem,calc(100vw-1.5rem))] -translate-x-1/2 -translate-y-1/2 overflow-auto rounded-xl border border-line bg-surface p-5 shadow-float">
          <Base.Title className="text-base font-semibold">Your session has ended</Base.Title>
          <Base.Description className="mb-4 text-soft">
            Sign in again and go on: what you typed on this page is still there.
          </Base.Description>
          <SignInForm onSignedIn={onSignedIn} />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
