import { useState, type FormEvent } from 'react';
import { Button } from '../components/button.tsx';
import { CodeBlock } from '../components/code-block.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { TextInput } from '../components/text-input.tsx';
import { signIn } from './sign-in.ts';

interface SignInFormProps {
  readonly onSignedIn: () => void;
}

/** Two ways in: the one-time link that the command prints, and a key. */
export function SignInForm({ onSignedIn }: SignInFormProps) {
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
