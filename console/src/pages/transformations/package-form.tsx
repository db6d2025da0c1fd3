import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { TextInput } from '../../components/text-input.tsx';
import type { AddFormProps } from './add-transformation.tsx';

const address = /^https?:\/\//i;

/** From the npm registry, or a repository on GitHub or GitLab. */
export function PackageForm({ onChoose, busy }: AddFormProps) {
  const [name, setName] = useState('');
  const wanted = name.trim();
  const submit = (): void => {
    if (wanted !== '') onChoose({ source: address.test(wanted) ? { url: wanted } : { npm: wanted } });
  };
  return (
    <form
      className="flex flex-col items-start gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className="w-full">
        <TextInput
          label="Package or address"
          value={name}
          onChange={setName}
          placeholder="posthog-currency-normalization-plugin"
          hint="NAME or NAME@VERSION of a package, or the address of a repository on GitHub or GitLab, of a .zip or of a .tar.gz."
          required
        />
      </div>
      <Button kind="primary" type="submit" busy={busy} disabled={wanted === ''}>
        Install and add
      </Button>
    </form>
  );
}
