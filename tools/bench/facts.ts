/** What the reduction of src/imports/stages/check/rows/facts.ts leaves of generated exports, and what it costs: `node tools/bench/facts.ts`. */
import { parseExactValues } from '../../src/base/exact-json.ts';
import { EventRowWriter } from '../../src/stores/events/rows.ts';
import { createConverter } from '../../src/imports/stages/check/segment/convert-event.ts';
import { createFacts, type FactEvent } from '../../src/imports/stages/check/rows/facts.ts';
import { findFormat } from '../../src/imports/formats/registry.ts';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import { formNames, formOf } from '../../test/support/dirty-exports/dirty-exports.ts';

const count = 50_000;
const runId = 'bench';

function eventsOf(slug: string, options: Readonly<Record<string, string>>, records: Iterable<unknown>): FactEvent[] {
  const format = findFormat(slug);
  if (format === undefined) throw new Error(`expected a known format, got: ${slug}`);
  const read = format.createReader(options, format.names);
  const names = { onKey: (): void => {}, onNestedKey: (): void => {} };
  const convert = createConverter({ runId, eventBytesMax: 1_000_000, now: Date.now, names });
  const events: FactEvent[] = [];
  let place = 0;
  for (const record of records) {
    place += 8;
    const result = read(record);
    for (const [index, event] of result.kind === 'events' ? result.events.entries() : []) {
      const ready = convert(event);
      if (ready.kind !== 'ready') continue;
      const { uuid, distinctId, micros } = ready;
      const at = place + Math.min(7, index);
      events.push({ uuid, event: ready.event, distinctId, micros, place: at, properties: event.properties });
    }
  }
  return events;
}

function measure(name: string, events: readonly FactEvent[]): void {
  const writer = new EventRowWriter();
  const facts = createFacts({ projectId: 1, runId }, writer);
  const cpu = process.threadCpuUsage();
  for (const event of events) facts.add(event);
  const added = process.threadCpuUsage(cpu);
  facts.write();
  const { rows, chunks } = writer.take();
  const taken = process.threadCpuUsage(cpu);
  const micros = (added.user + added.system) / events.length;
  const both = (taken.user + taken.system) / events.length;
  const bytes = chunks.reduce((all, chunk) => all + chunk.length, 0);
  const shares = `${(rows / events.length).toFixed(3)} facts and ${(bytes / events.length).toFixed(0)} bytes an event`;
  console.log(
    `${name}: ${events.length} events, ${shares}; ${micros.toFixed(2)} µs an event, ${both.toFixed(2)} with take`,
  );
}

for (const perVisit of [1, 5]) {
  const events = eventsOf('mixpanel', {}, mixpanelRecords(1, count, perVisit));
  measure(`mixpanel, ${perVisit} a visit`, events);
}
for (const name of formNames) {
  const { make, isText, format, formatOptions, heading } = formOf(name);
  if (heading !== undefined) continue;
  const records = [...make(7, 10_000)].map(({ text }) => {
    if (isText) return text;
    try {
      return parseExactValues(text);
    } catch {
      // The line is broken on purpose.
      return undefined;
    }
  });
  measure(name, eventsOf(format, formatOptions ?? {}, records));
}
