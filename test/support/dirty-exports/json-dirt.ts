import type { Draw } from '../draw.ts';
import { deep, tooLongName, wide } from './dirt.ts';
import { rejected, rejectedEvent, type DirtyRecord } from './dirty-record.ts';
import { drawMs, textOfMs } from './people.ts';
import { clockAt } from './wall-clock.ts';

/** Where a record has what is damaged. */
export interface Members {
  readonly time: string;
  readonly name: string;
  /** All that say who it was. */
  readonly ids: readonly string[];
}

/** One record in twenty is damaged; its times are texts or milliseconds. */
export function damaged(draw: Draw, good: DirtyRecord, { time, name, ids }: Members): DirtyRecord {
  if (draw.chance(0.95)) return good;
  const { text } = good;
  switch (draw.int(8)) {
    case 0:
      return { text: text.slice(0, draw.int(text.length - 2) + 1), expected: rejected };
    case 1:
      return { text: withValue(text, time, 'null'), expected: rejected };
    case 2:
      return {
        text: withValue(text, time, draw.pick(['"2999-01-01 00:00:00"', '32503680000000'])),
        expected: rejected,
      };
    case 3:
      // Seconds and 0 are no milliseconds.
      return { text: withValue(text, time, draw.pick(['0', '1672531200', '""', '"soon"'])), expected: rejected };
    case 4:
      return { text: withValue(text, name, `"${tooLongName}"`), expected: rejectedEvent(good) };
    case 5:
      return { text: text.replace('{', `{"deep":${deep(500 + draw.int(5000))},`), expected: rejected };
    case 6:
      return { text: text.replace('{', `{"wide":${wide(6000)},`), expected: good.expected };
    default:
      return { text: ids.reduce((some, id) => withValue(some, id, 'null'), text), expected: rejected };
  }
}

export function withValue(text: string, member: string, json: string): string {
  return text.replace(new RegExp(`"${member}":(?:"(?:[^"\\\\]|\\\\.)*"|[^,{}\\[\\]]+)`, 'g'), `"${member}":${json}`);
}

export interface Moment {
  /** JSON: a text with or without its zone, or milliseconds. */
  readonly written: string;
  readonly ms: number;
}

export function drawMoment(draw: Draw, zone?: string): Moment {
  return momentOf(draw, drawMs(draw, zone), zone);
}

/** `zone`: of texts that do not say it. */
export function momentOf(draw: Draw, ms: number, zone = 'UTC'): Moment {
  const clock = clockAt(draw, zone, ms);
  const texts: readonly Moment[] = [
    { written: `"${textOfMs(clock.localMs)}"`, ms: clock.ms },
    { written: `"${textOfMs(ms)} UTC"`, ms },
    { written: `"${new Date(ms).toISOString()}"`, ms },
  ];
  const epochs = [String(ms), `"${ms}"`].map((written) => ({ written, ms }));
  // So small a number is no time in milliseconds.
  return draw.pick(ms < Date.UTC(1990, 0, 1) ? texts : [...texts, ...epochs]);
}

/** An id of digits comes as text or as a number. */
export function idText(draw: Draw, id: string | undefined): string {
  if (id === undefined) return draw.pick(['null', '""']);
  return /^[1-9]\d*$/.test(id) && draw.chance(0.5) ? id : JSON.stringify(id);
}
