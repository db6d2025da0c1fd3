import type { Window } from '../../src/pipeline/window.ts';

/** A window that changes one person. */
export function windowOf(project_id: number): Window {
  const person = {
    project_id,
    uuid: '0191d5f0-0000-7000-8000-000000000001',
    created_at_micros: 0,
    is_identified: 0,
    registers: '{}',
  };
  return {
    number: 1,
    lane: 'live',
    from: 0,
    to: 1,
    token: 'live:0-1',
    rows: { chunks: [], rows: 0 },
    earlierRows: [],
    persons: { persons: [person], sameCreation: new Set(), distinctIds: [], merges: [] },
    groups: { types: [], groups: [] },
    notes: [],
    chains: { counts: [], failures: [], errors: new Map() },
    storage: { generation: 1, rows: [] },
    observed: [],
    warnings: [],
    violations: { counts: [], byPolicy: new Map() },
    deadLetters: [],
    live: { seen: [], skipped: [] },
    counts: { events: 1, bodyBytes: 0, stored: 1, dropped: new Map(), dead: new Map() },
    oldestReceivedAt: 0,
    traceparents: [],
    startedAt: 0,
    computedAt: 0,
  };
}
