import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { IconButton } from './icon-button.tsx';
import { useToast } from './toasts.tsx';

interface CopyButtonProps {
  readonly text: string | (() => string);
  readonly label?: string;
}

const shownMs = 1_500;

export function CopyButton({ text, label = 'Copy' }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  const toast = useToast();
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text());
      setCopied(true);
      setTimeout(() => setCopied(false), shownMs);
    } catch {
      // Browsers only allow it over https and on localhost.
      toast.error('The browser does not allow copying here. Select the text and copy it manually.');
    }
  };
  const Icon = copied ? Check : Copy;
  return (
    <IconButton
      label={copied ? 'Copied' : label}
      size="small"
      icon={<Icon aria-hidden="true" className="size-3.5" />}
      onClick={() => void copy()}
    />
  );
}
