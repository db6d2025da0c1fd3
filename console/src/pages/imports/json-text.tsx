import { useState } from 'react';
import { TextArea } from '../../components/text-area.tsx';

interface JsonTextProps {
  readonly label: string;
  readonly value: unknown;
  /** Called only with valid JSON. */
  readonly onChange: (value: unknown) => void;
}

/** Edits a value as JSON text. Invalid text is kept in the field. */
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
      error={typeof parsedOrText(text) === 'string' ? 'Invalid JSON.' : undefined}
    />
  );
}

/** Parses JSON, or returns the text itself if it is invalid. */
export function parsedOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
