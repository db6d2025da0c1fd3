import { lazy, Suspense } from 'react';
import { Loading } from './loading.tsx';

export interface CodeEditorProps {
  /** Accessible name. */
  readonly label: string;
  readonly value: string;
  readonly onChange?: (value: string) => void;
  readonly language: 'javascript' | 'json';
  readonly readOnly?: boolean;
  /** Text to compare with; differences are highlighted inline. */
  readonly original?: string | undefined;
  /** CSS height. */
  readonly height?: string;
  /** Called on mod+enter. */
  readonly onSubmit?: () => void;
}

const CodeEditorView = lazy(async () => ({ default: (await import('./code-editor-view.tsx')).CodeEditorView }));

/** Edits code and JSON. CodeMirror is loaded on first use. Tab moves the focus out. */
export function CodeEditor(props: CodeEditorProps) {
  const height = props.height ?? '16rem';
  return (
    <div style={{ height }} className="overflow-hidden rounded-md border border-line-strong bg-surface">
      <Suspense fallback={<Loading rows={4} label="Loading editor" />}>
        <CodeEditorView {...props} height={height} />
      </Suspense>
    </div>
  );
}
