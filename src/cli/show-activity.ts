import type { ActivityEntry } from '../wire/contract/activity.ts';
import { showTable } from './output.ts';
import type { Terminal } from './terminal.ts';

export function showActivity(terminal: Terminal, entries: readonly ActivityEntry[]): void {
  showTable(terminal, entries, {
    TIME: ({ created_at }) => created_at,
    WHO: (entry) => whoDid(entry),
    WHAT: ({ activity }) => activity,
    ITEM: ({ scope, item_id, detail }) => `${scope} ${item_id} ${detail.name}`,
    CHANGED: ({ detail }) => detail.changes.map(({ field }) => field).join(', ') || '-',
  });
}

function whoDid({ user, is_system: isSystem, key_label: key }: ActivityEntry): string {
  if (isSystem || user === null) return 'the service';
  const name = user.email || user.first_name;
  return key === null ? name : `${name}, key "${key}"`;
}
