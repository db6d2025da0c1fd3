import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import type { KeyWithValue } from './keys-query.ts';

interface KeyValueDialogProps {
  readonly issued: KeyWithValue | undefined;
  readonly onClose: () => void;
}

/** The one time that a key is shown. */
export function KeyValueDialog({ issued, onClose }: KeyValueDialogProps) {
  if (issued === undefined) return null;
  const command = `curl ${location.origin}/api/personal_api_keys/@current -H 'Authorization: Bearer ${issued.value}'`;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Your key"
      footer={
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <Notice tone="warn">Copy it now: it is not shown again. Whoever has it can do what it may do.</Notice>
        <CodeBlock code={issued.value} label="Copy key" />
        <p className="text-sm">Try it:</p>
        <CodeBlock code={command} label="Copy command" />
      </div>
    </Dialog>
  );
}
