import { lazy, Suspense } from 'react';
import { Loading } from './loading.tsx';

export interface CodeEditorProps {
  /** What is edited, for screen readers. */
  readonly label: string;
  readonly value: string;
  readonly onChange?: (value: string) => void;
  readonly language: 'javascript' | 'json';
  readonly readOnly?: boolean;
  /** What it is compared with: differences are marked in place. */
  readonly original?: string | undefined;
  /** CSS height. */
  readonly height?: string;
  /** mod+enter. */
  readonly onSubmit?: () => void;
}

const CodeEditorView = lazy(async () => ({ default: (await import('./code-editor-view.tsx')).CodeEditorView }));

/** An editor for code and JSON; its parts are loaded when it is first shown. Tab leaves it. */
export function CodeEditor(props: CodeEditorProps) {
  const height = props.height ?? '16rem';
  return (
    <div style={{ height }} className="overflow-hidden rounded-md border border-line-strong bg-surface">
      <Suspense fallback={<Loading rows={4} label="Loading the editor" />}>
        <CodeEditorView {...props} height={height} />
      </Suspense>
    </div>
  );
}
