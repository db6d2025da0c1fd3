import { createDraw, drawVisitors } from '../../../../test/support/draw.ts';

const startMs = Date.UTC(2024, 0, 1);

/** Lines of an export in the shape of Millrace; the same for the same seed. */
export function* millraceRecords(seed: number, count: number, recordsPerVisit = 1): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  const visitor = drawVisitors(draw, 1 + Math.floor(count / 8), recordsPerVisit);
  for (let index = 0; index < count; index += 1) {
    const user = visitor(index);
    const ms = startMs + index * 7001;
    const isImported = draw.chance(0.5);
    const event = draw.chance(0.05) ? '$identify' : draw.pick(['$pageview', 'order "paid"', 'Ünïcode']);
    const properties = {
      index,
      plan: draw.pick(['free', 'pro', null, '']),
      $groups: { company: `c-${user % 5}` },
      $set: { seen: index },
      ...(event === '$identify' && { $anon_distinct_id: `device-${user}` }),
      ...(isImported && { $import_run_id: 'run-1' }),
    };
    yield {
      uuid: draw.uuid(),
      event,
      distinct_id: `user-${user}`,
      timestamp: `${new Date(ms).toISOString().slice(0, 23)}${100 + draw.int(900)}Z`,
      properties: draw.chance(0.3) ? JSON.stringify(properties) : properties,
      historical_migration: isImported,
      received_at: new Date(ms + 1000).toISOString(),
      import_run: isImported ? 'run-1' : '',
    };
  }
}
