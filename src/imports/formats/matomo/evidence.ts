import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time is that of the action, corrected by the first and last timestamps of its visit.',
    sources: ['https://github.com/matomo-org/matomo/issues/22720'],
  },
  zone: {
    rule: 'timestamp of an action is the wall clock of the site as if it were UTC; how far it is off follows from the visit, else from the option, else the check warns.',
    sources: ['https://github.com/matomo-org/matomo/issues/22720'],
    option: 'time_zone',
  },
  ids: {
    rule: 'The uuid follows from site, visit, type and pageId, else order, goal or place in the visit.',
    sources: [
      'https://github.com/matomo-org/matomo/blob/cd1b52dd2e5807d2871e6037815cae2390c5243d/plugins/Contents/tests/expected/test_Contents__Live.getLastVisitsDetails_day.xml',
    ],
  },
  links: {
    rule: 'userId is the user, visitorId the device (idvisitor of the tracker).',
    sources: ['https://github.com/matomo-org/matomo/blob/5.x-dev/plugins/Live/Visitor.php'],
  },
  counts: {
    rule: 'Matomo cuts a visit off after visitor_log_maximum_actions_per_visit actions and says how many in truncatedActionsCount: the check calls such an export incomplete.',
    sources: ['https://github.com/matomo-org/matomo/blob/5.x-dev/plugins/Live/Visitor.php'],
  },
};
