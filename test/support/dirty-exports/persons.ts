import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseRegisters } from '../../../src/pipeline/persons/registers-text.ts';
import type { OraclePerson } from './oracle.ts';

/** Those that a service keeps in a data directory. */
export function storedPersons(dataDir: string, project: number): readonly OraclePerson[] {
  using db = new DatabaseSync(join(dataDir, 'metadata.sqlite'), { readOnly: true });
  const rows = db
    .prepare(
      `select d.distinct_id, hex(d.person_uuid) as person, p.registers from person_distinct_ids d
      left join persons p on p.project_id = d.project_id and p.uuid = d.person_uuid where d.project_id = ?`,
    )
    .iterate(project);
  const persons = new Map<string, { readonly ids: string[]; readonly times: OraclePerson['times'] }>();
  for (const { distinct_id: id, person, registers } of rows) {
    const known = persons.get(String(person)) ?? { ids: [], times: timesIn(registers) };
    persons.set(String(person), known);
    known.ids.push(String(id));
  }
  return [...persons.values()];
}

/** Of each group that a service keeps, its property `probe` as text. */
export function storedGroups(dataDir: string, project: number): ReadonlyMap<string, string> {
  using db = new DatabaseSync(join(dataDir, 'metadata.sqlite'), { readOnly: true });
  const rows = db.prepare('select group_key, registers from groups where project_id = ?').all(project);
  return new Map(
    rows.map(({ group_key: key, registers }) => [
      String(key),
      String(parseRegisters(String(registers)).get('probe')?.v),
    ]),
  );
}

function timesIn(text: unknown): OraclePerson['times'] {
  const registers = parseRegisters(typeof text === 'string' ? text : '{}');
  const [latest, first] = ['latest', 'initial_first'].map((name) => registers.get(name)?.v);
  return latest === undefined && first === undefined ? undefined : { latest: Number(latest), first: Number(first) };
}

/** One text for each person, which is what is compared. */
export function personText({ ids, times }: OraclePerson): string {
  return [...ids.toSorted(), times?.latest ?? '', times?.first ?? ''].join('\u0001');
}
