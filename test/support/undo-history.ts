/** Made-up history for undo: what live capture and several imports brought, with people who are joined, named and grouped. */
import { createDraw, type Draw } from './draw.ts';

export interface MadeEvent {
  readonly event: string;
  readonly distinct_id: string;
  readonly uuid: string;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

const people = 60;
const names = ['$pageview', 'paid', 'seen', 'signed_up'];
const firstMs = Date.parse('2024-02-20T00:00:00Z');
const spanMs = 40 * 86_400_000;

/** Events oldest first. `shared`: of these some are brought once more, as they are but for the run. */
export function madeEvents(
  seed: number,
  count: number,
  { runId, shared = [] }: { readonly runId?: string; readonly shared?: readonly MadeEvent[] } = {},
): MadeEvent[] {
  const draw = createDraw(seed);
  const mark = runId === undefined ? {} : { $import_run_id: runId };
  const own = Array.from({ length: count }, () => madeEvent(draw, mark));
  const again = shared.filter(() => draw.chance(0.1)).map((each) => ofRun(each, runId));
  return [...own, ...again].sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1));
}

/** The same event as another run brings it; undefined: as live capture does. */
export function ofRun(event: MadeEvent, runId: string | undefined): MadeEvent {
  const { $import_run_id: _, ...properties } = event.properties;
  return Object.assign({}, event, {
    properties: runId === undefined ? properties : { ...properties, $import_run_id: runId },
  });
}

function madeEvent(draw: Draw, mark: object): MadeEvent {
  const person = draw.int(people);
  const id = draw.chance(0.4) ? `anon-${person}-${draw.int(3)}` : `user-${person}`;
  const made = (event: string, distinctId: string, properties: object): MadeEvent => ({
    event,
    distinct_id: distinctId,
    uuid: draw.uuid(),
    timestamp: new Date(firstMs + draw.int(spanMs)).toISOString(),
    properties: { ...properties, ...mark },
  });
  const kind = draw.int(100);
  if (kind < 5)
    return made('$identify', `user-${person}`, { $anon_distinct_id: `anon-${draw.int(people)}-${draw.int(3)}` });
  if (kind < 7) return made('$create_alias', `user-${person}`, { alias: `alias-${draw.int(people)}` });
  if (kind < 8) return made('$merge_dangerously', `user-${person}`, { alias: `user-${draw.int(people)}` });
  if (kind < 12) {
    const group = { $group_type: draw.pick(['company', 'team']), $group_key: `g-${draw.int(12)}` };
    return made('$groupidentify', id, { ...group, $group_set: { [`k${draw.int(3)}`]: draw.int(1000) } });
  }
  if (kind < 14) return made('seen', id, { $process_person_profile: false, n: draw.int(9) });
  return made(draw.pick(names), id, { n: draw.int(1e6), ...said(draw) });
}

function said(draw: Draw): object {
  const key = `p${draw.int(4)}`;
  const kind = draw.int(10);
  if (kind < 2) return { $set: { [key]: draw.int(1000), big: `${draw.hex(6)}` } };
  if (kind < 3) return { $set_once: { [key]: draw.int(1000), first: draw.int(99) } };
  if (kind < 4) return { $unset: [key] };
  return kind < 5 ? { $groups: { company: `g-${draw.int(12)}` } } : {};
}
