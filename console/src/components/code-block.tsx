import { CopyButton } from './copy-button.tsx';
import { visible } from './plain-text.ts';

/** Shows code or output with a copy button. */
export function CodeBlock({ code, label = 'Copy' }: { readonly code: string; readonly label?: string }) {
  return (
    <div className="group relative rounded-md border border-line bg-sunken">
      <pre tabIndex={0} className="mr-9 max-h-96 overflow-auto p-3 font-mono text-xs leading-relaxed">
        <code dir="ltr">{visible(code)}</code>
      </pre>
      <div className="absolute top-1 right-1 rounded bg-sunken">
        <CopyButton text={code} label={label} />
      </div>
    </div>
  );
}
