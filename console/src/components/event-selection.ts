import type { EventSelection } from '../../../src/wire/contract/event-selection.ts';
import { ApiError } from '../api/api-error.ts';
import { needsValue, operators, type PropertyFilter } from '../api/property-filter.ts';

/** What the fields of a selection of stored events hold. */
export interface SelectionDraft {
  /** One per line, as `distinctIds`. */
  readonly events: string;
  readonly distinctIds: string;
  readonly personId: string;
  /** Days or times in the format of the API, as `before`. */
  readonly after: string;
  readonly before: string;
  readonly kind: 'all' | 'live' | 'historical';
  readonly importRun: string;
  readonly properties: readonly PropertyFilter[];
}

export const everyEvent: SelectionDraft = {
  events: '',
  distinctIds: '',
  personId: '',
  after: '',
  before: '',
  kind: 'all',
  importRun: '',
  properties: [],
};

/** Builds the selection of a request; the service validates it. */
export function selectionOf(draft: SelectionDraft): EventSelection {
  const { personId, after, before, kind, importRun, properties } = draft;
  const events = linesOf(draft.events);
  const ids = linesOf(draft.distinctIds);
  return {
    ...(events.length > 0 && { events }),
    ...(ids.length > 0 && { distinct_ids: ids }),
    ...(personId !== '' && { person_id: personId.trim() }),
    ...(after !== '' && { after: after.trim() }),
    ...(before !== '' && { before: before.trim() }),
    ...(kind !== 'all' && { historical_migration: kind === 'historical' }),
    ...(importRun !== '' && { import_run: importRun.trim() }),
    ...(properties.length > 0 && { properties: [...properties] }),
  };
}

/** Describes the conditions of a selection; empty if it selects every event. */
export function describeSelection(selection: EventSelection): string {
  const { events, distinct_ids: ids, person_id: person, after, before, properties = [] } = selection;
  const { historical_migration: historical, import_run: run } = selection;
  return [
    events?.join(', '),
    ids && `of ${ids.join(', ')}`,
    person && `of person ${person}`,
    after && `from ${after}`,
    before && `before ${before}`,
    historical !== undefined && (historical ? 'historical' : 'live'),
    run && `of import run ${run}`,
    ...properties.map(describeFilter),
  ]
    .filter(Boolean)
    .join('; ');
}

/** An erasure keeps no values of its filters; an ellipsis takes their place. */
function describeFilter({ key, operator = 'exact', value }: NonNullable<EventSelection['properties']>[number]): string {
  const label = operators.find((each) => each.value === operator)?.label ?? operator;
  if (!needsValue(operator)) return `${key} ${label}`;
  const texts = (Array.isArray(value) ? value : [value]).map((each) =>
    typeof each === 'string' ? each : JSON.stringify(each),
  );
  return `${key} ${label} ${value === undefined ? '…' : texts.join(' or ')}`;
}

/** Returns the different lines of a text that are not empty. Spaces are part of a name or id. */
export function linesOf(text: string): string[] {
  return [...new Set(text.split(/\r?\n/).filter((line) => line !== ''))];
}

/** Returns what the service reported about fields of a selection, by their name in the API. */
export function selectionErrors(error: unknown): Readonly<Partial<Record<keyof EventSelection, string>>> {
  if (!(error instanceof ApiError)) return {};
  return Object.fromEntries(
    [error, ...error.errors].flatMap(({ attr, detail }) => {
      const field = /^selection__(\w+?)(?:__|$)/.exec(attr ?? '')?.[1];
      return field === undefined ? [] : [[field, detail]];
    }),
  );
}
