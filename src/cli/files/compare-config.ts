import type { ProjectApi } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { keysToCompare, type Compared } from './config-changes.ts';
import { settingsBody, unresolved, type Settings } from './settle-settings.ts';
import { configsPath, type PresentConfig } from './target.ts';

export interface ComparedConfig {
  readonly compared: Compared;
  /** `token: variable TOKEN is not there`: what could not be compared, and why. */
  readonly reasons: readonly string[];
  /** Places of references that lead nowhere and that an apply needs. */
  readonly needed: readonly string[];
}

const nothing: Compared = { same: new Set(), different: new Set() };

/** A key that may only read sees everything but this. */
const blindBecause: Readonly<Record<string, string>> = {
  auth: 'comparing it needs a key with plugin:write',
  rateLimited: 'it was compared with too many other values within an hour',
};

/** Lets the service compare what nobody can read. `root`: path of the project. Errors: those of the call. */
export async function compareConfig(
  { api, keepSecrets }: { readonly api: ProjectApi; readonly keepSecrets: boolean },
  settings: Settings,
  present: PresentConfig,
  root: string,
): Promise<ComparedConfig> {
  const keys = new Set(keysToCompare(settings, present));
  const isThere = (key: string): boolean => unresolved(only(settings, key)).length === 0;
  const reasons = [...keys]
    .filter((key) => !isThere(key))
    .map((key) => `${key}: ${unresolved(only(settings, key)).join()}`);
  const kept = new Set([...settings.keys()].filter((key) => keepSecrets && keys.has(key)));
  const needed = [...settings.keys()].filter((key) => !kept.has(key)).flatMap((key) => unresolved(only(settings, key)));
  const asked = new Map([...settings].filter(([key]) => keys.has(key) && isThere(key)));
  if (asked.size === 0) return { compared: nothing, reasons, needed };
  try {
    const path = `${configsPath(root, present.family)}${present.id}/settings/compare/`;
    const answer = await api.send<{ same: string[]; different: string[] }>('POST', path, settingsBody(asked));
    const compared = { same: new Set(answer.same), different: new Set(answer.different) };
    return { compared, reasons, needed };
  } catch (error) {
    const why = error instanceof CommandError ? blindBecause[error.reason] : undefined;
    if (why === undefined) throw error;
    const blind = [...asked.keys()].map((key) => `${key}: ${why}`);
    return { compared: nothing, reasons: [...reasons, ...blind], needed };
  }
}

function only(settings: Settings, key: string): Settings {
  const setting = settings.get(key);
  return setting === undefined ? new Map() : new Map([[key, setting]]);
}
