import { createDraw } from '../../../../test/support/draw.ts';

const startMs = Date.UTC(2023, 0, 1);
/** Days of an export: many records must not reach into the future. */
const daysMax = 1000;
const pagesOfDayMin = 20;

/** Rows of the CSV files, texts only: pages of day after day, now and then a total of another table. */
export function* plausibleRecords(seed: number, count: number): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  const pagesOfDay = Math.max(pagesOfDayMin, Math.ceil(count / daysMax));
  for (let index = 0; index < count; index += 1) {
    const date = new Date(startMs + Math.floor(index / pagesOfDay) * 86_400_000).toISOString().slice(0, 10);
    const pageviews = draw.int(12);
    const visitors = String(Math.ceil(pageviews / (1 + draw.int(3))));
    if (draw.chance(0.1)) {
      yield {
        date,
        browser: 'Firefox',
        browser_version: '120',
        visitors,
        visits: '3',
        visit_duration: '9',
        bounces: '1',
      };
    } else {
      yield {
        date,
        hostname: 'shop.example',
        page: `/p/${index % pagesOfDay}`,
        visits: visitors,
        visitors,
        pageviews: String(pageviews),
        exits: '1',
        time_on_page: String(draw.int(300)),
      };
    }
  }
}
