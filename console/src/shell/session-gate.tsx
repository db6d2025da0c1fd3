import { Dialog as Base } from '@base-ui/react/dialog';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { isSignedOut } from '../api/api-error.ts';
import { meQuery } from '../api/users.ts';
import { Button, buttonStyle } from '../components/button.tsx';
import { CodeBlock } from '../components/code-block.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { ErrorState } from '../components/error-state.tsx';
import { TextInput } from '../components/text-input.tsx';
import { UserText } from '../components/user-text.tsx';
import type { SessionState } from './session-state.ts';
import { providerUrl, signIn, signInMethodsQuery } from './sign-in.ts';

interface SessionGateProps {
  readonly session: SessionState;
  readonly children: ReactNode;
}

/** Poll interval while signed out, to notice a sign-in with a link in another tab. */
const signedOutPollMs = 3_000;
/** Poll interval otherwise, so that pages without polling notice the end of the session too. */
const signedInPollMs = 15_000;

/** Shows sign-in instead of the page at first, and over the page when the session ends later, so that input is kept. */
export function SessionGate({ session, children }: SessionGateProps) {
  const expired = useSyncExternalStore(session.subscribe, session.isExpired);
  const client = useQueryClient();
  const me = useQuery({
    ...meQuery,
    staleTime: Infinity,
    refetchInterval: ({ state }) => (expired || state.error !== null ? signedOutPollMs : signedInPollMs),
  });
  const updatedAt = me.dataUpdatedAt;
  useEffect(() => {
    if (!me.isSuccess || !session.isExpired()) return;
    session.renew();
    void client.invalidateQueries();
  }, [updatedAt, me.isSuccess, client, session]);
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
        <SignInForm onSignedIn={onSignedIn} keepsPage={false} />
      </div>
    </main>
  );
}

/** Can only be closed by signing in: nothing can be saved without a session. */
function SignInOverlay({ onSignedIn }: { readonly onSignedIn: () => void }) {
  return (
    <Base.Root open>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-50 bg-black/50" />
        <Base.Popup className="fixed top-1/2 left-1/2 z-50 max-h-[90dvh] w-[min(28rem,calc(100vw-1.5rem))] -translate-x-1/2 -translate-y-1/2 overflow-auto rounded-xl border border-line bg-surface p-5 shadow-float">
          <Base.Title className="text-base font-semibold">Your session has ended</Base.Title>
          <Base.Description className="mb-4 text-soft">
            Sign in to continue. Everything you typed on this page is kept.
          </Base.Description>
          <SignInForm onSignedIn={onSignedIn} keepsPage />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

interface SignInFormProps {
  readonly onSignedIn: () => void;
  /** Whether the page below has input: the provider then opens in another tab. */
  readonly keepsPage: boolean;
}

/** Offers every way to sign in: the provider if one is set up, a one-time link from the command line, or a personal API key. */
function SignInForm({ onSignedIn, keepsPage }: SignInFormProps) {
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
      <ProviderLink keepsPage={keepsPage} />
      <div className="flex flex-col gap-2">
        <p>Create a one-time link on the machine that runs the service and open it in this browser:</p>
        <CodeBlock code="npx millrace login" />
      </div>
      <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-3 border-t border-line pt-4">
        <TextInput
          label="Or sign in with a personal API key"
          hint="The key needs scope * and no expiry. You stay signed in for 12 hours."
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

/** Shown when a provider is set up. */
function ProviderLink({ keepsPage }: { readonly keepsPage: boolean }) {
  const { data } = useQuery(signInMethodsQuery);
  const provider = data?.oidc ?? undefined;
  if (provider === undefined) return null;
  return (
    <div className="flex flex-col gap-2 border-b border-line pb-4">
      <a
        href={providerUrl(provider.path, location.pathname + location.search)}
        {...(keepsPage && { target: '_blank', rel: 'noopener' })}
        className={buttonStyle('primary')}
      >
        <span>
          Sign in with <UserText text={provider.name} charsMax={60} short className="" />
        </span>
      </a>
      {keepsPage && <p className="text-xs text-soft">Opens another tab. Come back here when you have signed in.</p>}
    </div>
  );
}
