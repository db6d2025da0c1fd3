import { namespaceOf } from '../derived-uuids.ts';
import { namesOf } from '../names.ts';
import type { IdCounter } from '../occurrences.ts';
import type { PlainIdentity, PlainTable } from '../plain-table.ts';
import type { Properties } from '../read-values.ts';
import { utc } from '../times.ts';
import { contextPaths } from './context.ts';
import { pageEvent, screenEvent } from './event-names.ts';
import { messageIdParts } from './message-id.ts';
import { messageIds } from './message-ids.ts';
import { hostOf, textOf } from './message-values.ts';

/** What `given` of the reader takes for no value. */
const blank = [null, ''];

/** What plain messages track, page and screen become; `occurrences`: those of the reader. */
export function segmentPlain(occurrences: IdCounter): PlainTable {
  const asTheyAre = namesOf({});
  return {
    source: undefined,
    event: ['type', 'event'],
    eventName: nameOf,
    time: { path: 'timestamp', zone: utc, numbers: undefined, isKept: true },
    ids: { paths: ['userId', 'anonymousId'], read: identityOf },
    uuid: { path: 'messageId', is: 'name', namespace: namespaceOf(...messageIdParts), occurrences },
    properties: [
      { members: contextPaths, nothing: [null] },
      { of: 'members', from: ['context.page.url'], make: ([url]) => given('$host', hostOf(url)), isVaried: true },
      {
        of: 'members',
        from: ['context.ip', 'request_ip'],
        make: ([ip, other]) => given('$ip', textOf(ip) ?? textOf(other)),
        isVaried: true,
      },
      'ids',
      '$set',
      { members: { category: 'category', name: 'name' }, only: page, nothing: blank, areTexts: true },
      { members: { category: 'category' }, only: screen, nothing: blank, areTexts: true },
      { members: { $screen_name: 'name' }, only: screen, nothing: blank, areTexts: true, areNeeded: true },
      { bag: 'properties', names: asTheyAre, wins: true },
    ],
    person: [
      { bag: 'context.traits', into: '$set', names: asTheyAre },
      { bag: 'traits', into: '$set', names: asTheyAre },
    ],
    silent,
    isSettled: true,
    identify: undefined,
  };
}

const page = { path: 'type', is: 'page' };
const screen = { path: 'type', is: 'screen' };

/** About the message, not about what happened; and times that stand in for a `timestamp`. */
const silent: ReadonlySet<string> = new Set(
  '_metadata channel groupId integrations originalTimestamp previousId projectId receivedAt sentAt version writeKey'.split(
    ' ',
  ),
);

function nameOf([type, event]: readonly unknown[]): string | undefined {
  if (type === 'track') return textOf(event);
  return type === 'page' ? pageEvent : type === 'screen' ? screenEvent : undefined;
}

function identityOf([userId, anonymousId]: readonly unknown[]): PlainIdentity | undefined {
  const ids = messageIds(userId, anonymousId);
  if (ids === undefined) return undefined;
  return { distinctId: ids.distinctId, link: undefined, properties: given('$anon_distinct_id', ids.anonymousId) };
}

function given(name: string, value: string | undefined): Properties {
  return value === undefined ? {} : { [name]: value };
}
