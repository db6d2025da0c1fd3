import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import type { IssuedLink } from './users-query.ts';

interface SignInLinkDialogProps {
  readonly issued: IssuedLink | undefined;
  readonly onClose: () => void;
}

/** The one time that a link is shown. */
export function SignInLinkDialog({ issued, onClose }: SignInLinkDialogProps) {
  if (issued === undefined) return null;
  return (
    <Dialog
      open
      onClose={onClose}
      title="One-time link"
      footer={
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      }
    >
      <div className="flex flex-col gap-3 text-sm">
        <Notice tone="warn">Copy it now: it is not shown again. Whoever opens it first is signed in.</Notice>
        <p>
          Hand it to <UserText text={issued.email === '' ? 'the user' : issued.email} /> yourself, nothing is sent. It
          works once, until <TimeText time={issued.sign_in_expires_at} />.
        </p>
        <CodeBlock code={issued.sign_in_url} label="Copy link" />
      </div>
    </Dialog>
  );
}
