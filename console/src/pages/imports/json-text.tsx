import { useState } from 'react';
import { TextArea } from '../../components/text-area.tsx';

interface JsonTextProps {
  readonly label: string;
  readonly value: unknown;
  /** Only with what is JSON. */
  readonly onChange: (value: unknown) => void;
}

/** A value edited as JSON; text that is none yet stays where it is typed. */
export function JsonText({ label, value, onChange }: JsonTextProps) {
  const [text, setText] = useState(() => (typeof value === 'string' ? value : JSON.stringify(value, null, 2)));
  return (
    <TextArea
      label={label}
      rows={12}
      className="font-mono text-xs"
      value={text}
      onChange={(next) => {
        setText(next);
        const parsed = parsedOrText(next);
        if (typeof parsed !== 'string') onChange(parsed);
      }}
      error={typeof parsedOrText(text) === 'string' ? 'This is not JSON yet.' : undefined}
    />
  );
}

/** Half-typed JSON is the text that it is. */
export function parsedOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
