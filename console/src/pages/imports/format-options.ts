import { parsedOrText } from './json-text.tsx';

/** Reads the setting `format_options`, given as JSON or JSON text. */
export function optionsOf(value: unknown): Readonly<Record<string, string>> {
  const parsed = typeof value === 'string' && value !== '' ? parsedOrText(value) : value;
  return typeof parsed === 'object' && parsed !== null ? (parsed as Readonly<Record<string, string>>) : {};
}
