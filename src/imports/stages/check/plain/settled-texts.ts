import { settledTexts } from '../../../formats/settle-properties.ts';
import { quote } from './canonical-value.ts';
import type { CompiledTable } from './compiled-table.ts';
import { createAnswers } from './fragments.ts';
import type { SettledOf } from './property-groups.ts';
import type { RecordSpans } from './record-spans.ts';

/** Texts that are written in another way where they stand. */
export interface SettledTexts {
  /** False: the record is odd. */
  prepare(json: Buffer): boolean;
  readonly of: SettledOf;
}

export function createSettledTexts(compiled: CompiledTable, spans: RecordSpans): SettledTexts {
  const texts = [...settledTexts].map(([name, settled]) => {
    const property = compiled.propertyOf(name);
    const answers = createAnswers(256, { of: 'properties', numbers: [property] }, ([value]) =>
      Buffer.from(JSON.stringify(typeof value === 'string' ? settled(value) : value)),
    );
    return { property, answers };
  });
  const found: (Buffer | undefined)[] = Array.from({ length: compiled.properties }, () => undefined);
  return {
    prepare: (json) => {
      for (let at = 0; at < texts.length; at += 1) {
        const { property, answers } = texts[at] as (typeof texts)[number];
        const from = spans.propertyFrom(property);
        const isText = from >= 0 && json[from] === quote;
        found[property] = isText ? answers.of(spans, json) : undefined;
        if (isText && found[property] === undefined) return false;
      }
      return true;
    },
    of: (property) => (property < 0 ? undefined : found[property]),
  };
}
