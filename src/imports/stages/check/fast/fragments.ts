import { normalisedTexts } from '../../../formats/normalise-properties.ts';
import { isUnusualInFragment, type CompiledMap, type Target } from './compiled-map.ts';

/** Properties that are written unchanged: `"a":1,"b":"x",`. */
export interface Fragment {
  readonly text: string;
  /** Numbers of its names. */
  readonly names: readonly number[];
  /** Properties that other rules read: number, start and end of the value in the bytes of the text, for each. */
  readonly tracked: readonly number[];
  /** Unmapped names, which are counted. */
  readonly unmapped: readonly string[];
}

/** Facts about a name in a fragment, computed once. */
interface FragmentName {
  readonly key: string;
  readonly number: number;
  /** Number of the property as which other rules read its value; -1 if none does. */
  readonly property: number;
  readonly isUnmapped: boolean;
  /** Whether the name makes a record unusual. */
  readonly isUnusual: boolean;
}

const namesMax = 10_000;

/** Builds the fragments of one target. */
export class Fragments {
  readonly #compiled: CompiledMap;
  readonly #target: Target;
  readonly #names = new Map<string, FragmentName>();

  constructor(compiled: CompiledMap, target: Target) {
    this.#compiled = compiled;
    this.#target = target;
  }

  /** Returns `undefined` if a name makes the record unusual. */
  of(properties: Readonly<Record<string, unknown>>): Fragment | undefined {
    const numbers: number[] = [];
    const tracked: number[] = [];
    const unmapped: string[] = [];
    let text = '';
    for (const name of Object.keys(properties)) {
      const known = this.#names.get(name) ?? this.#remember(name);
      if (known.isUnusual) return undefined;
      const value = JSON.stringify(this.#normalised(name, properties[name]));
      if (known.property >= 0) {
        const from = Buffer.byteLength(text) + Buffer.byteLength(known.key);
        tracked.push(known.property, from, from + Buffer.byteLength(value));
      }
      text += `${known.key}${value},`;
      numbers.push(known.number);
      if (known.isUnmapped) unmapped.push(name);
    }
    return { text, names: numbers, tracked, unmapped };
  }

  #remember(name: string): FragmentName {
    const isOwn = this.#target === 'properties';
    const known = {
      key: `${JSON.stringify(name)}:`,
      number: this.#compiled.names.numberOf(this.#target, name),
      property: isOwn ? this.#compiled.propertyOf(name) : -1,
      isUnmapped: isOwn && this.#compiled.isUnmapped(name),
      isUnusual: isUnusualInFragment(this.#target, name),
    };
    if (this.#names.size === namesMax) this.#names.clear();
    this.#names.set(name, known);
    return known;
  }

  #normalised(name: string, value: unknown): unknown {
    if (typeof value !== 'string' || this.#target !== 'properties' || this.#compiled.map.isNormalised === true)
      return value;
    return normalisedTexts.get(name)?.(value) ?? value;
  }
}
