const pattern = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Returns one spelling per value of a JSON number: `12.50`, `1.25e1` and `12.5` become `125e-1`. Negative zero becomes `-0`,
 * distinct from all others. Text that is not a JSON number is returned unchanged.
 */
export function canonicalDecimal(text: string): string {
  const match = pattern.exec(text);
  if (match === null) return text;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  if (digits === '') return `${sign}0`;
  const significant = digits.replace(/0+$/, '');
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}

/** Returns a negative number, zero or a positive number if `a` is less than, equal to or greater than `b`, both texts of JSON numbers. */
export function compareDecimals(a: string, b: string): number {
  const [left, right] = [parts(a), parts(b)];
  if (left.sign !== right.sign) return left.sign - right.sign;
  return left.sign * compareMagnitudes(left, right);
}

interface Parts {
  /** 0 for zero. */
  readonly sign: -1 | 0 | 1;
  /** Significant digits. */
  readonly digits: string;
  /** Power of ten of the first digit. */
  readonly magnitude: bigint;
}

function parts(text: string): Parts {
  const [mantissa = '', power = '0'] = canonicalDecimal(text).split('e');
  const digits = mantissa.replace('-', '');
  if (digits === '0') return { sign: 0, digits, magnitude: 0n };
  return { sign: mantissa.startsWith('-') ? -1 : 1, digits, magnitude: BigInt(power) + BigInt(digits.length) };
}

function compareMagnitudes(a: Parts, b: Parts): number {
  if (a.magnitude !== b.magnitude) return a.magnitude < b.magnitude ? -1 : 1;
  // Without trailing zeros, fractions compare like texts.
  return a.digits < b.digits ? -1 : Number(a.digits > b.digits);
}

/** Whether the text of a JSON number is that of a whole number, however it is spelled. */
export function isWholeDecimal(text: string): boolean {
  const [, power = '0'] = canonicalDecimal(text).split('e');
  return !power.startsWith('-');
}
