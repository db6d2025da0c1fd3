import { normalisedTexts } from '../../../formats/normalise-properties.ts';
import { isUnusualInFragment, type CompiledTable, type Target } from './compiled-table.ts';

/** Properties that are written as they lie here: `"a":1,"b":"x",`. */
export interface Fragment {
  readonly text: string;
  /** The names that they take. */
  readonly names: readonly number[];
  /** Those that are looked at again: number of the property, start and end of its value in the bytes of the text, for each. */
  readonly looked: readonly number[];
  /** Names that somebody wants to hear. */
  readonly heard: readonly string[];
}

/** What is known of a name in a fragment, found out once. */
interface FragmentName {
  readonly key: string;
  readonly number: number;
  /** Under which its value is looked at again; negative: it is not. */
  readonly property: number;
  readonly isHeard: boolean;
  /** No fragment holds it. */
  readonly isUnusual: boolean;
}

const namesMax = 10_000;

/** Makes the fragments of one place: among the properties, or of what is said of the person. */
export class Fragments {
  readonly #table: CompiledTable;
  readonly #target: Target;
  readonly #names = new Map<string, FragmentName>();

  constructor(table: CompiledTable, target: Target = 'properties') {
    this.#table = table;
    this.#target = target;
  }

  /** Undefined: one of them says more than a property does. */
  of(properties: Readonly<Record<string, unknown>>): Fragment | undefined {
    const numbers: number[] = [];
    const looked: number[] = [];
    const heard: string[] = [];
    let text = '';
    for (const name of Object.keys(properties)) {
      const known = this.#names.get(name) ?? this.#learn(name);
      if (known.isUnusual) return undefined;
      const value = JSON.stringify(this.#settled(name, properties[name]));
      if (known.property >= 0) {
        const from = Buffer.byteLength(text) + Buffer.byteLength(known.key);
        looked.push(known.property, from, from + Buffer.byteLength(value));
      }
      text += `${known.key}${value},`;
      numbers.push(known.number);
      if (known.isHeard) heard.push(name);
    }
    return { text, names: numbers, looked, heard };
  }

  #learn(name: string): FragmentName {
    const isOwn = this.#target === 'properties';
    const known = {
      key: `${JSON.stringify(name)}:`,
      number: this.#table.names.numberOf(this.#target, name),
      property: isOwn ? this.#table.propertyOf(name) : -1,
      isHeard: isOwn && this.#table.isHeard(name),
      isUnusual: isUnusualInFragment(this.#target, name),
    };
    if (this.#names.size === namesMax) this.#names.clear();
    this.#names.set(name, known);
    return known;
  }

  #settled(name: string, value: unknown): unknown {
    if (typeof value !== 'string' || this.#target !== 'properties' || this.#table.isSettled) return value;
    return normalisedTexts.get(name)?.(value) ?? value;
  }
}
