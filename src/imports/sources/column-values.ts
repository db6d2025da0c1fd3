/** Conversions of a database's texts to JSON, without losing a digit. */

/** ZEROFILL pads with zeros, which JSON does not allow. */
function digitsOf(text: string): string {
  return text.replace(/^\+?(-?)0+(?=\d)/, '$1');
}

/** A number, or a text if a double cannot represent it exactly. */
export function integerJson(text: string): string {
  const digits = digitsOf(text);
  return Number.isSafeInteger(Number(digits)) ? digits : JSON.stringify(digits);
}

/** A double represents 15 digits exactly; longer numbers stay text, and so does NaN. */
export function decimalJson(text: string): string {
  if (!/^-?\d+(\.\d+)?$/.test(text)) return JSON.stringify(text);
  const number = digitsOf(text);
  const digits = number.replaceAll(/\D/g, '').replace(/^0+/, '').length;
  const isExact = digits <= 15 || (!number.includes('.') && Number.isSafeInteger(Number(number)));
  return isExact ? number : JSON.stringify(number);
}

/** A double as the database writes it; NaN and infinity, which JSON does not have, stay text. */
export function doubleJson(text: string): string {
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? digitsOf(text) : JSON.stringify(text);
}

/** JSON on one line. What is not JSON, although its column is called so, stays text. Line breaks can only occur between values. */
export function embeddedJson(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return JSON.stringify(text);
  }
  return text.replaceAll(/[\r\n]+/g, ' ');
}
