import type { ReactNode } from 'react';
import { Button } from '../../components/button.tsx';

interface WizardFooterProps {
  readonly onBack?: () => void;
  readonly onNext: () => void;
  readonly next: string;
  /** Whether the next step is an alternative to waiting, not the main action. */
  readonly plain?: boolean;
  readonly disabled?: boolean;
  readonly busy?: boolean;
  /** Further buttons, or a note. */
  readonly children?: ReactNode;
}

export function WizardFooter({
  onBack,
  onNext,
  next,
  plain = false,
  disabled = false,
  busy = false,
  children,
}: WizardFooterProps) {
  return (
    <div className="sticky bottom-0 z-10 flex flex-wrap items-center justify-end gap-2 border-t border-line bg-page py-3">
      {children}
      {onBack !== undefined && <Button onClick={onBack}>Back</Button>}
      <Button kind={plain ? 'plain' : 'primary'} disabled={disabled} busy={busy} onClick={onNext}>
        {next}
      </Button>
    </div>
  );
}
