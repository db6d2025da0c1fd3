import { describe, expect, it } from 'vitest';
import { activityScopes } from '../../../../src/wire/contract/activity.ts';
import { filtersOf, itemOf, sentenceOf, sideOf } from './activity-query.ts';
import { scopes } from './activity-search.ts';

describe('activity', () => {
  it('offers every scope of the log', () => {
    expect(scopes.toSorted()).toEqual(activityScopes.toSorted());
  });

  it('filters by whole days including the last one, and by item only within a scope', () => {
    const days = filtersOf({ from: '2026-01-30', to: '2026-01-31', item: '5' });
    expect(days).toMatchObject({ after: '2026-01-30T00:00:00.000Z', before: '2026-02-01T00:00:00.000Z' });
    expect(days['item_id']).toBeUndefined();
    expect(filtersOf({ scope: 'Plugin', item: '5' })).toMatchObject({ scope: 'Plugin', item_id: '5' });
    expect(filtersOf({ from: 'soon' })['after']).toBeUndefined();
  });

  it('filters changes by the service separately from users', () => {
    expect(filtersOf({ by: 'system' })).toMatchObject({ is_system: true, user: undefined });
    expect(filtersOf({ by: '7' })).toMatchObject({ is_system: undefined, user: '7' });
  });

  it('a change is described in a sentence, also of an unknown activity or scope', () => {
    const detail = { name: 'Files', changes: [] };
    const sentence = (activity: string, scope: string) => sentenceOf({ activity, scope, detail });
    expect(sentence('config_updated', 'PluginConfig')).toBe('Changed settings of config Files');
    expect(sentence('run', 'ImportRun')).toBe('Started import run Files');
    expect(sentence('resume', 'ImportRun')).toBe('Resumed import run Files');
    expect(sentence('undo', 'ImportRun')).toBe('Undid import run Files');
    expect(sentence('set_aside', 'Other')).toBe('Set aside Other Files');
    expect(itemOf({ scope: 'ImportRun', item_id: '01a21924-49db-7000-8000-000000000000' })).toBe('import run 01a21924');
    expect(itemOf({ scope: 'User', item_id: '7' })).toBe('user 7');
  });

  it('a side of a diff contains only fields that existed at the time', () => {
    const changes = [
      { field: 'name', action: 'changed', before: 'a', after: 'b' },
      { field: 'settings.x', action: 'created', before: null, after: 1 },
      { field: 'settings.y', action: 'deleted', before: 2, after: null },
    ] as const;
    expect(sideOf(changes, 'before')).toEqual({ name: 'a', 'settings.y': 2 });
    expect(sideOf(changes, 'after')).toEqual({ name: 'b', 'settings.x': 1 });
  });
});
