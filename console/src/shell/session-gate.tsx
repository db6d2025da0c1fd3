import { Dialog as Base } from '@base-ui/react/dialog';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { isSignedOut } from '../api/api-error.ts';
import { meQuery } from '../api/users.ts';
import { Button } from '../components/button.tsx';
import { CodeBlock } from '../components/code-block.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { ErrorState } from '../components/error-state.tsx';
import { TextInput } from '../components/text-input.tsx';
import type { SessionState } from './session-state.ts';
import { signIn } from './sign-in.ts';

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

interface SignInFormProps {
  readonly onSignedIn: () => void;
}

/** Two ways in: the one-time link that the command prints, and a key. */
function SignInForm({ onSignedIn }: SignInFormProps) {
  const [key, setKey] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await signIn(key.trim());
      onSignedIn();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-col gap-2">
        <p>Make a one-time link on the machine of the service and open it in this browser:</p>
        <CodeBlock code="npx millrace login" />
      </div>
      <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-3 border-t border-line pt-4">
        <TextInput
          label="Or sign in with a personal API key"
          hint="One with scope * and without an end; it signs you in for 12 hours."
          type="password"
          autoComplete="off"
          placeholder="phx_…"
          required
          value={key}
          onChange={setKey}
        />
        <ErrorNote error={error} />
        <Button type="submit" kind="primary" busy={busy} className="self-start">
          Sign in
        </Button>
      </form>
    </div>
  );
}
