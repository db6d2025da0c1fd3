import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Field } from '../../components/field.tsx';
import { FileInput } from '../../components/file-input.tsx';
import type { AddFormProps } from './add-transformation.tsx';

/** A .zip or .tgz from this machine. */
export function ArchiveForm({ onChoose, busy }: AddFormProps) {
  const [file, setFile] = useState<File>();
  const submit = (): void => {
    if (file === undefined) return;
    const source = new FormData();
    source.append('archive', file, file.name);
    onChoose({ source });
  };
  return (
    <div className="flex flex-col items-start gap-3">
      <div className="w-full">
        <Field label="Archive" hint="A .zip or .tgz that holds plugin.json and index.ts or index.js.">
          {(control) => (
            <FileInput
              control={control}
              name="the archive"
              accept=".zip,.tgz,.tar.gz"
              stored={undefined}
              value={file}
              onChange={(next) => setFile(next instanceof File ? next : undefined)}
            />
          )}
        </Field>
      </div>
      <Button kind="primary" busy={busy} disabled={file === undefined} onClick={submit}>
        Upload and add
      </Button>
    </div>
  );
}
