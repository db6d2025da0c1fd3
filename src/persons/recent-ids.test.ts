import { describe, expect, it } from 'vitest';
import { Person, personUuid } from './person.ts';
import { RecentIds } from './recent-ids.ts';

function person(projectId: number, id: string): Person {
  const uuid = personUuid(projectId, id);
  const fields = { createdAt: 0, isIdentified: false, isStored: true, version: 0, registersJson: '{}' };
  return new Person({ projectId, uuid, ...fields });
}

function at(id: string): [Buffer, number, number] {
  const bytes = Buffer.from(`"${id}"`);
  return [bytes, 1, bytes.length - 1];
}

describe('persons of recent ids', () => {
  it('are found by the bytes of the id in the same project, and nobody else is', () => {
    const recent = new RecentIds();
    const known = new Map<string, Person>();
    for (let n = 0; n < 300_000; n++) {
      const id = `user-${n % 150_000}`;
      const found = recent.find(1, ...at(id));
      const mine = known.get(id) ?? person(1, id);
      known.set(id, mine);
      // Another id may have taken the slot, but never may another person come back.
      if (found !== undefined && found !== mine) throw new Error(`expected the person of ${id}`);
      recent.remember(mine, ...at(id));
      if (recent.find(1, ...at(id)) !== mine) throw new Error(`expected ${id} to be remembered`);
    }
    expect(recent.find(2, ...at('user-149999'))).toBeUndefined();
    expect(recent.find(1, ...at('user-14999'))).not.toBe(known.get('user-149999'));
  });

  it('a person that became part of another stands for that one', () => {
    const recent = new RecentIds();
    const [one, other] = [person(1, 'one'), person(1, 'other')];
    recent.remember(one, ...at('one'));
    one.mergedInto = other;
    expect(recent.find(1, ...at('one'))).toBe(other);
  });

  it('long ids are left to the slower way, and clearing forgets everybody', () => {
    const recent = new RecentIds();
    const long = 'x'.repeat(41);
    recent.remember(person(1, long), ...at(long));
    recent.remember(person(1, 'short'), ...at('short'));
    expect(recent.find(1, ...at(long))).toBeUndefined();
    recent.clear();
    expect(recent.find(1, ...at('short'))).toBeUndefined();
  });
});
