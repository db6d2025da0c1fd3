import { useState } from 'react';
import type { SettingValues } from '../../components/schema-values.ts';

/** Keeps unsaved settings across a page reload. Keys in `hidden` (secrets) and files are never stored. */
export function useDraft(
  key: string,
  hidden: readonly string[],
): readonly [SettingValues, (values: SettingValues) => void, () => void] {
  const [values, setValues] = useState<SettingValues>(() => readDraft(key));
  const change = (next: SettingValues): void => {
    setValues(next);
    const kept = Object.entries(next).filter(([name, value]) => !hidden.includes(name) && !(value instanceof File));
    sessionStorage.setItem(key, JSON.stringify(Object.fromEntries(kept)));
  };
  return [values, change, () => sessionStorage.removeItem(key)];
}

function readDraft(key: string): SettingValues {
  const text = sessionStorage.getItem(key);
  return text === null ? {} : (JSON.parse(text) as SettingValues);
}
