import type { JsonObject } from '../../base/json.ts';
import type { ProfileEvent } from '../../stores/events/profile-reads.ts';
import { parseExact } from '../../base/exact-json.ts';
import type { EventDraft } from '../event-draft.ts';
import { readGroups } from '../steps/read-groups.ts';
import { resolveProfile } from '../steps/resolve-profile.ts';

/** Returns a stored event as a draft before it changed persons and groups; undefined if it would be refused today. */
export function storedDraft(projectId: number, event: ProfileEvent): EventDraft | undefined {
  const draft: EventDraft = {
    kind: 'draft',
    index: 0,
    projectId,
    uuid: event.uuid,
    event: event.event,
    distinctId: event.distinctId,
    micros: event.micros,
    keyMicros: event.micros,
    properties: parseExact(event.properties) as JsonObject,
    propertiesText: event.properties,
    warnings: [],
    inChain: null,
    person: null,
    groups: null,
  };
  const refused = resolveProfile(draft) ?? readGroups(draft);
  return refused === undefined ? draft : undefined;
}
