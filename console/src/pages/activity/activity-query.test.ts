import { describe, expect, it } from 'vitest';
import { activityScopes } from '../../../../src/wire/contract/activity.ts';
import { filtersOf, sideOf } from './activity-query.ts';
import { scopes } from './activity-search.ts';

describe('activity', () => {
  it('offers every kind of item that the log has', () => {
    expect(scopes.toSorted()).toEqual(activityScopes.toSorted());
  });

  it('filters by whole days, the last one included, and by item only within a kind', () => {
    const days = filtersOf({ from: '2026-01-30', to: '2026-01-31', item: '5' });
    expect(days).toMatchObject({ after: '2026-01-30T00:00:00.000Z', before: '2026-02-01T00:00:00.000Z' });
    expect(days['item_id']).toBeUndefined();
    expect(filtersOf({ scope: 'Plugin', item: '5' })).toMatchObject({ scope: 'Plugin', item_id: '5' });
    expect(filtersOf({ from: 'soon' })['after']).toBeUndefined();
  });

  it('what the service did is no user', () => {
    expect(filtersOf({ by: 'system' })).toMatchObject({ is_system: true, user: undefined });
    expect(filtersOf({ by: '7' })).toMatchObject({ is_system: undefined, user: '7' });
  });

  it('a side of a diff holds only what was there', () => {
    const changes = [
      { field: 'name', action: 'changed', before: 'a', after: 'b' },
      { field: 'settings.x', action: 'created', before: null, after: 1 },
      { field: 'settings.y', action: 'deleted', before: 2, after: null },
    ] as const;
    expect(sideOf(changes, 'before')).toEqual({ name: 'a', 'settings.y': 2 });
    expect(sideOf(changes, 'after')).toEqual({ name: 'b', 'settings.x': 1 });
  });
});
