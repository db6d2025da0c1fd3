import { settledTexts } from '../../../formats/settle-properties.ts';
import { isOddInFragment, urlProperties, type CompiledTable, type Target } from './compiled-table.ts';

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
