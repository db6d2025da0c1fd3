import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The export has days, not times: views are spread evenly over the day.',
    sources: ['https://github.com/plausible/analytics/blob/master/lib/plausible/exports.ex'],
    option: 'synthesise',
  },
  zone: {
    rule: 'Days are those of the time zone of the site, which the export does not name: the option gives it.',
    sources: ['https://github.com/plausible/analytics/blob/master/lib/plausible/exports.ex'],
    option: 'time_zone',
  },
  ids: {
    rule: 'Made up from day, host, page and number: the same export again changes nothing.',
    sources: ['https://github.com/plausible/analytics/blob/master/lib/plausible/exports.ex'],
  },
  links: {
    rule: 'The export has no visitors, only their number: made-up ones make no persons.',
    sources: ['https://github.com/plausible/analytics/blob/master/lib/plausible/exports.ex'],
  },
  counts: {
    rule: 'Totals of large sites are estimates from a sample, scaled up by Plausible; a page is counted over all hosts and carries one of them. Other tables hold parts of the same views and are skipped.',
    sources: ['https://github.com/plausible/analytics/blob/master/lib/plausible/exports.ex'],
  },
};
