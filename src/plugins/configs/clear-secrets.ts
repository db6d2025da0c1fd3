import type { Work } from './save-changes.ts';
import { attachedKeys, type StoredConfig } from './stored-config.ts';

/**
 * Removes secrets given for the code of `before` when `after` runs other code. The error names them until they are given
 * again.
 */
export function withoutSecretsOf(work: Pick<Work, 'trial'>, before: StoredConfig, after: StoredConfig): StoredConfig {
  const fields = [...before.plugin.fields, ...after.plugin.fields];
  const secrets = new Set(fields.filter(({ secret }) => secret === true).map(({ key }) => key));
  const set = new Set([...Object.keys(before.settings), ...attachedKeys(before)]);
  const taken = after.plugin.fields.map(({ key }) => key).filter((key) => secrets.has(key) && set.has(key));
  const settings = Object.fromEntries(Object.entries(after.settings).filter(([key]) => !secrets.has(key)));
  const moved = { ...after, settings, attachments: after.attachments.filter(({ key }) => !secrets.has(key)) };
  if (taken.length === 0) return { ...moved, error: work.trial(moved) };
  const names = taken.map((key) => `"${key}"`).join(' and ');
  return { ...moved, error: `Give ${names} again: the config now runs other code than it was given for.` };
}
