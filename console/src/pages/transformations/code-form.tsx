import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { CodeEditor } from '../../components/code-editor.tsx';
import { Notice } from '../../components/notice.tsx';
import { TextInput } from '../../components/text-input.tsx';
import type { AddFormProps } from './add-transformation.tsx';
import { pluginFiles, starterCode, starterSchema } from './starter-code.ts';

/** Code of one's own, from a template that runs. */
export function CodeForm({ onChoose, busy }: AddFormProps) {
  const [name, setName] = useState('');
  const [code, setCode] = useState(starterCode);
  const [schema, setSchema] = useState(starterSchema);
  const [wrong, setWrong] = useState('');
  const submit = (): void => {
    if (name.trim() === '') return;
    try {
      setWrong('');
      onChoose({ source: { files: pluginFiles(name.trim(), code, schema) } });
    } catch {
      setWrong('Expected the settings to be JSON: a list of fields.');
    }
  };
  return (
    <div className="flex flex-col gap-3">
      <TextInput label="Name" value={name} onChange={setName} maxLength={200} placeholder="Plan tier" required />
      <div className="flex flex-col gap-1">
        <p className="text-sm font-medium">Code</p>
        <CodeEditor
          label="Code"
          language="javascript"
          value={code}
          onChange={setCode}
          onSubmit={submit}
          height="15rem"
        />
        <p className="text-xs text-soft">
          JavaScript or TypeScript. It runs in a sandbox, with limits of time and memory.
        </p>
      </div>
      <div className="flex flex-col gap-1">
        <p className="text-sm font-medium">Settings that it asks for</p>
        <CodeEditor
          label="Settings"
          language="json"
          value={schema}
          onChange={setSchema}
          onSubmit={submit}
          height="9rem"
        />
      </div>
      {wrong !== '' && <Notice tone="danger">{wrong}</Notice>}
      <div>
        <Button kind="primary" busy={busy} disabled={name.trim() === ''} onClick={submit}>
          Create and add
        </Button>
      </div>
    </div>
  );
}
