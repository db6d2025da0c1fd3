import { createByteMemo } from './byte-memo.ts';
import { plainTextEnd, quote } from './canonical-value.ts';
import { settledTexts } from '../../../formats/settle-properties.ts';
import { isOddInFragment, urlProperties, type CompiledTable, type Target } from './compiled-table.ts';
import type { RecordSpans } from './record-spans.ts';

/** Properties that are written as they lie here: `"a":1,"b":"x",`. */
export interface Fragment {
  readonly bytes: Buffer;
  /** The names that they take. */
  readonly names: readonly number[];
  /** Those that are looked at again. */
  readonly looked: readonly Looked[];
  /** Names that somebody wants to hear. */
  readonly heard: readonly string[];
}

/** Number of a property, start and end of its value in the bytes of its fragment. */
export interface Looked {
  readonly property: number;
  readonly from: number;
  readonly to: number;
}

/** Undefined: one of them would be settled, or says more than a property does. */
export function createFragment(
  properties: Readonly<Record<string, unknown>>,
  table: CompiledTable,
  target: Target = 'properties',
): Fragment | undefined {
  const isOwn = target === 'properties';
  const names = Object.keys(properties);
  const looked: Looked[] = [];
  let text = '';
  for (const name of names) {
    if (isOddInFragment(target, name)) return undefined;
    if (isOwn && !table.isSettled && !isSettled(name, properties[name])) return undefined;
    const key = `${JSON.stringify(name)}:`;
    const value = JSON.stringify(properties[name]);
    const property = isOwn ? table.propertyOf(name) : -1;
    if (property >= 0) {
      const from = Buffer.byteLength(text + key);
      looked.push({ property, from, to: from + Buffer.byteLength(value) });
    }
    text += `${key}${value},`;
  }
  return {
    bytes: Buffer.from(text),
    names: names.map((name) => table.names.numberOf(target, name)),
    looked,
    heard: isOwn ? names.filter(table.isHeard) : [],
  };
}

const pageProperties: ReadonlySet<string> = new Set(Object.values(urlProperties));

function isSettled(name: string, value: unknown): boolean {
  if (pageProperties.has(name)) return false;
  return typeof value !== 'string' || (settledTexts.get(name)?.(value) ?? value) === value;
}

/** Answers that follow from some values of a record, remembered by the bytes of these values. */
export interface Answers<Answer> {
  /** Undefined: the record is odd. */
  of(spans: RecordSpans, json: Buffer): Answer | undefined;
}

const keyBytesMax = 4096;
const key = Buffer.alloc(keyBytesMax);

/** `numbers`: of members or properties; -1 for one that no record has. */
export function createAnswers<Answer>(
  slots: number,
  { of, numbers }: { readonly of: 'members' | 'properties'; readonly numbers: readonly number[] },
  make: (values: readonly unknown[]) => Answer | undefined,
): Answers<Answer> {
  const memo = createByteMemo<{ readonly answer: Answer | undefined }>(slots);
  const isMember = of === 'members';
  const fromOf = (spans: RecordSpans, number: number): number =>
    number < 0 ? -1 : isMember ? spans.memberFrom(number) : spans.propertyFrom(number);
  const toOf = (spans: RecordSpans, number: number): number =>
    isMember ? spans.memberTo(number) : spans.propertyTo(number);
  /** Length of the key; -1: too long. */
  const fillKey = (spans: RecordSpans, json: Buffer): number => {
    let at = 0;
    for (let each = 0; each < numbers.length; each += 1) {
      const number = numbers[each] as number;
      const from = fromOf(spans, number);
      if (from >= 0) {
        const to = toOf(spans, number);
        if (at + to - from >= keyBytesMax) return -1;
        for (let next = from; next < to; next += 1) key[at++] = json[next] as number;
      }
      if (at === keyBytesMax) return -1;
      // No value holds it.
      key[at++] = 0;
    }
    return at;
  };
  return {
    of: (spans, json) => {
      const length = fillKey(spans, json);
      if (length < 0) return undefined;
      const known = memo.get(key, 0, length);
      if (known !== undefined) return known.answer;
      const answer = make(
        numbers.map((number) => {
          const from = fromOf(spans, number);
          return from < 0 ? undefined : valueAt(json, from, toOf(spans, number));
        }),
      );
      memo.set({ answer });
      return answer;
    },
  };
}

function valueAt(json: Buffer, from: number, to: number): unknown {
  if (json[from] === quote && plainTextEnd(json, from) === to) return json.toString('utf8', from + 1, to - 1);
  return JSON.parse(json.toString('utf8', from, to));
}
