import { timePattern } from '../formats/mapping/time-pattern.ts';
import { utc } from '../formats/times.ts';

/** Day and month are told apart by a name or by the year before them: 03/04/2024 is two days, and none of these. */
const dates = ['d MMM yyyy', 'MMM d yyyy', 'd-MMM-yyyy', 'yyyy/M/d', 'yyyy.M.d', 'yyyy-M-d'];
const clocks = ['', ' H:mm', ' H:mm:ss', ' H:mm:ss.S', ' h:mm a', ' h:mm:ss a'];
const zones = ['', ' X'];
const textMax = 80;

const weekday = /^(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+/i;
const month = /\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?/gi;

/**
 * A time that is written in another way than ISO 8601, but can mean one only: as ISO 8601, without a zone where the text has
 * none. Undefined: it is no time, or may be several.
 */
export function createTimeGuess(): (text: string) => string | undefined {
  const patterns = dates.flatMap((date) =>
    clocks.flatMap((clock) =>
      zones.map((zone) => ({ hasZone: zone !== '', read: timePattern(`${date}${clock}${zone}`, utc, 'odd_times') })),
    ),
  );
  let last = patterns[0];
  return (text) => {
    if (text.length > textMax) return undefined;
    const plain = plainText(text);
    // Times of a source are written alike.
    for (const pattern of last === undefined ? patterns : [last, ...patterns]) {
      const iso = pattern.read(plain);
      if (iso === undefined) continue;
      last = pattern;
      return pattern.hasZone ? iso : iso.slice(0, -1);
    }
    return undefined;
  };
}

function plainText(text: string): string {
  return text
    .trim()
    .replace(/\s*\([^()]*\)$/, '')
    .replace(weekday, '')
    .replaceAll(month, (name) => name.slice(0, 3))
    .replaceAll(/(\d)(?:st|nd|rd|th)\b/gi, '$1')
    .replaceAll(',', ' ')
    .replace(/(\d)T(\d)/, '$1 $2')
    .replace(/\s*\b(?:GMT|UTC)(?=[+-]\d)/i, ' ')
    .replace(/\s*(?:\b(?:GMT|UTC)|(?<=\d)Z)$/i, ' Z')
    .replace(/(:\d\d(?:\.\d+)?)([+-]\d\d)/, '$1 $2')
    .replaceAll(/\s+/g, ' ');
}
