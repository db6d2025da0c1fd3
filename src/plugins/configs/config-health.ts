import { missingRequired } from '../check-settings.ts';
import { attachedKeys, type StoredConfig } from './stored-config.ts';

/** Returns one sentence that says why the config does not work and what to do; empty when it is healthy. */
export function healthOf(config: StoredConfig): string {
  const missing = missingRequired(config.plugin.fields, config.settings, attachedKeys(config));
  if (missing.length === 0) return config.error;
  const names = missing.map((key) => `"${key}"`).join(', ');
  return `missing required ${missing.length === 1 ? 'setting' : 'settings'} ${names}`;
}
