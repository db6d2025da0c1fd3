import type { SchemaFormat } from './plan.ts';

const day = /^(\d{4})-(\d\d)-(\d\d)$/;
const time = /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;
/** One @, no white space, a domain with a dot or none. */
const email = /^[^\s@"<>()]{1,64}@[^\s@"<>()]{1,255}$/;
const scheme = /^[a-z][a-z0-9+.-]*:\S/i;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text has a format. All take time proportional to the length of the text. */
export const isFormat: Readonly<Record<SchemaFormat, (text: string) => boolean>> = {
  date: isDay,
  'date-time': (text) => /^[Tt ]$/.test(text.charAt(10)) && isDay(text.slice(0, 10)) && time.test(text.slice(11)),
  email: (text) => email.test(text),
  uri: (text) => scheme.test(text) && URL.canParse(text),
  uuid: (text) => uuid.test(text),
};

function isDay(text: string): boolean {
  const match = day.exec(text);
  if (match === null) return false;
  const [year, month, date] = match.slice(1).map(Number) as [number, number, number];
  const found = new Date(0);
  found.setUTCFullYear(year, month - 1, date);
  return found.getUTCMonth() === month - 1 && found.getUTCDate() === date;
}
