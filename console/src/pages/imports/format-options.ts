import { parsedOrText } from './json-text.tsx';

/** The setting `format_options`, as JSON or as text that holds it. */
export function optionsOf(value: unknown): Readonly<Record<string, string>> {
  const parsed = typeof value === 'string' && value !== '' ? parsedOrText(value) : value;
  return typeof parsed === 'object' && parsed !== null ? (parsed as Readonly<Record<string, string>>) : {};
}
