import { useMemo, useState } from 'react';
import { changedSettings, type SettingValues } from '../../components/schema-values.ts';
import { settingsOf, type Transformation } from './transformation-queries.ts';

interface Typed {
  readonly name: string;
  readonly description: string;
  readonly values: SettingValues;
}

/** The unsaved changes of a config. */
export interface Draft extends Typed {
  readonly stored: SettingValues;
  /** Settings that differ from the stored ones. */
  readonly changed: SettingValues;
  readonly dirty: boolean;
  readonly set: (part: Partial<Typed>) => void;
  readonly discard: () => void;
}

/** Keeps unsaved changes across refetches of the config and tab switches. */
export function useDraft(config: Transformation): Draft {
  const [typed, setTyped] = useState<Partial<Typed>>({});
  const stored = useMemo(() => settingsOf(config), [config]);
  const { name = config.name, description = config.description, values = stored } = typed;
  const changed = useMemo(() => changedSettings(stored, values), [stored, values]);
  const dirty = Object.keys(changed).length > 0 || name !== config.name || description !== config.description;
  return {
    name,
    description,
    values,
    stored,
    changed,
    dirty,
    set: (part) => setTyped((before) => ({ ...before, ...part })),
    discard: () => setTyped({}),
  };
}
