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
