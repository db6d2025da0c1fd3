import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time is cust_hit_time_gmt, which was sent with the hit (report suites with timestamps), else hit_time_gmt, when Adobe received it, else date_time.',
    sources: [
      'https://experienceleague.adobe.com/en/docs/analytics/export/analytics-data-feed/data-feed-contents/datafeeds-reference',
    ],
  },
  zone: {
    rule: 'The first two are seconds since 1970; date_time is in the zone of the report suite, which the feed does not name: the option gives it, without it the check warns.',
    sources: [
      'https://experienceleague.adobe.com/en/docs/analytics/export/analytics-data-feed/data-feed-contents/datafeeds-reference',
    ],
    option: 'time_zone',
  },
  ids: {
    rule: 'hitid_high and hitid_low together are a hit. Adobe warns that two hits can rarely share them, so visitor and time are part of the uuid.',
    sources: [
      'https://github.com/AdobeDocs/analytics.en/blob/main/help/export/analytics-data-feed/df-faq.md',
      'https://github.com/AdobeDocs/analytics.en/blob/main/help/export/analytics-data-feed/data-feeds-best-practices.md',
    ],
  },
  links: {
    rule: 'visid_high and visid_low together are a visitor, however Adobe found it; the column of `user_id` is the user, to whom the visitor is linked.',
    sources: [
      'https://github.com/AdobeDocs/analytics.en/blob/main/help/export/analytics-data-feed/c-df-contents/datafeeds-calculate.md',
    ],
    option: 'user_id',
  },
  counts: {
    rule: 'Hits that Analysis Workspace does not count are skipped and counted by reason: exclude_hit and customer_perspective other than 0, hit_source 5, 7, 8 and 9. A hit or file sent twice is stored once.',
    sources: [
      'https://github.com/AdobeDocs/analytics.en/blob/main/help/export/analytics-data-feed/c-df-contents/datafeeds-calculate.md',
      'https://github.com/AdobeDocs/analytics.en/blob/main/help/export/analytics-data-feed/data-feeds-best-practices.md',
    ],
  },
};
