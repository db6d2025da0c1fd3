import { expect, it } from 'vitest';
import { createReadSources } from './read-sources.ts';

const leader = { host: 'leader', port: 1 };
const near = { host: 'near', port: 2 };
const place = { lane: 'live', slot: 3 } as const;

function sourcesAt(rack: string) {
  let time = 0;
  const deps = {
    leaderOf: () => leader,
    broker: (id: number) => (id === 2 ? near : undefined),
    now: () => time,
  };
  return { sources: createReadSources(rack, deps), pass: (ms: number) => (time += ms) };
}

it('without a zone the leader is asked for records, never for a replica', () => {
  const { sources } = sourcesAt('');
  expect(sources.of(place)).toEqual({ broker: leader, rack: '' });
  expect(sources.follow(place, { preferredReplica: -1 })).toBe(false);
  expect(sources.avoid(place)).toBe(false);
});

it('a replica that the leader names is read for 5 minutes, of this partition only', () => {
  const { sources, pass } = sourcesAt('zone "a"');
  expect(sources.of(place)).toEqual({ broker: leader, rack: 'zone "a"' });
  expect(sources.follow(place, { preferredReplica: 2 })).toBe(true);
  expect(sources.of(place)).toEqual({ broker: near, rack: '' });
  expect(sources.of({ ...place, lane: 'historical' })).toEqual({ broker: leader, rack: 'zone "a"' });
  pass(300_000);
  expect(sources.of(place)).toEqual({ broker: leader, rack: 'zone "a"' });
});

it('a replica that fails is avoided for 30 seconds: the leader itself returns the records', () => {
  const { sources, pass } = sourcesAt('a');
  sources.follow(place, { preferredReplica: 2 });
  expect(sources.avoid(place)).toBe(true);
  expect(sources.of(place)).toEqual({ broker: leader, rack: '' });
  expect(sources.avoid(place)).toBe(false);
  pass(30_000);
  expect(sources.of(place)).toEqual({ broker: leader, rack: 'a' });
});

it('for a replica on a broker that is not known yet, the leader returns the records', () => {
  const { sources } = sourcesAt('a');
  expect(sources.follow(place, { preferredReplica: 7 })).toBe(true);
  expect(sources.of(place)).toEqual({ broker: leader, rack: '' });
});
