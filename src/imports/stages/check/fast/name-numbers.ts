/** Numbers for names, so that a record can mark which of them it has had. */
export interface NameNumbers {
  /** The same for the same name of the same kind; negative: there are too many names, and this one has no number. */
  numberOf(kind: string, name: string): number;
}

/** More of them are names made of data. */
export const nameNumbersMax = 1 << 15;

export function createNameNumbers(): NameNumbers {
  const numbers = new Map<string, number>();
  return {
    numberOf: (kind, name) => {
      const key = `${kind}\0${name}`;
      const known = numbers.get(key);
      if (known !== undefined) return known;
      if (numbers.size === nameNumbersMax) return -1;
      numbers.set(key, numbers.size);
      return numbers.size - 1;
    },
  };
}
