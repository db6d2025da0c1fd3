import { describe, expect, it } from 'vitest';
import { findFormat, formats } from './registry.ts';
import type { FormatOptions, RecordResult } from './format.ts';
import { incompleteLine } from './incomplete.ts';

function readWith(slug: string, record: unknown, options: FormatOptions = {}): RecordResult {
  const format = findFormat(slug);
  if (format === undefined) throw new Error(`expected a format called ${slug}`);
  return format.createReader(options, format.names)(record);
}

describe.each(formats.map((format) => [format.slug, format] as const))('records of %s', (slug, format) => {
  const [record] = format.example.records;
  const bare = readWith(slug, record, format.example.options);
  const objects = typeof record === 'object' ? [record] : [];

  it.each(
    objects.flatMap((own) => [
      { _airbyte_ab_id: 'x', _airbyte_emitted_at: 1, _airbyte_data: own },
      { _airbyte_raw_id: 'x', _airbyte_extracted_at: 1, _airbyte_data: JSON.stringify(own) },
      { stream: 'events', data: own, emitted_at: 1_704_153_600_000 },
      { type: 'RECORD', record: { stream: 'events', data: own, emitted_at: 1 } },
    ]),
  )('are the same within an envelope of Airbyte, and the check reports it: %j', (envelope) => {
    const result = readWith(slug, envelope, format.example.options);
    expect({ ...result, notes: undefined }).toEqual({ ...bare, notes: undefined });
    expect(result.notes).toEqual([...(bare.notes ?? []), { of: 'airbyte_envelope' }]);
  });

  it('an error message among them is noted as missing data, and not rejected', () => {
    const error = { result: 'error', message: 'The date is not valid' };
    expect(readWith(slug, error, format.example.options)).toMatchObject({
      kind: 'skipped',
      notes: [{ of: 'error_answer', sample: 'The date is not valid' }],
    });
  });
});

describe('Airbyte', () => {
  it('the export stream of Mixpanel keeps its ids and the names of the browser', () => {
    const row = { event: 'a', distinct_id: 'u1', time: '2024-01-01T05:00:00', insert_id: 'i1', browser: 'Chrome' };
    const exported = {
      event: 'a',
      properties: { time: 1_704_085_200, distinct_id: 'u1', $insert_id: 'i1', $browser: 'Chrome' },
    };
    const [fromStream, fromExport] = [{ _airbyte_data: row }, exported].map((each) => readWith('mixpanel', each));
    expect({ ...fromStream, notes: undefined }).toEqual({ ...fromExport, notes: undefined });
  });

  it('rules of a mapping that refer to the envelope still apply', () => {
    const rules = { event: '_airbyte_data.e', distinct_id: '_airbyte_data.u', timestamp: '_airbyte_data.t' };
    const record = { _airbyte_data: { e: 'x', u: 'u1', t: '2024-01-01T00:00:00Z' } };
    const result = readWith('mapping', record, { mapping: JSON.stringify(rules) });
    expect(result).toMatchObject({ kind: 'events', events: [{ event: 'x', distinct_id: 'u1' }] });
    expect(result.notes).toBeUndefined();
  });

  it('messages between the records of a source are skipped', () => {
    const state = { type: 'STATE', state: { type: 'STREAM' } };
    expect(readWith('amplitude', state)).toMatchObject({ kind: 'skipped' });
  });
});

describe('a line by which the vendor marks an export as incomplete', () => {
  it.each(['export terminated early', 'terminated early', '[terminated early]', ' Export terminated early\r'])(
    '%j',
    (line) => {
      expect(incompleteLine('mixpanel', line)).toBe('mixpanel_terminated_early');
      expect(incompleteLine('amplitude', line)).toBeUndefined();
    },
  );

  it('is not a line that merely contains the phrase', () => {
    expect(incompleteLine('mixpanel', '{"event":"export terminated early"')).toBeUndefined();
  });
});
