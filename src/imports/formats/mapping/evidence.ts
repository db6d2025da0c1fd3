import type { Evidence } from '../evidence.ts';

export const evidence: Evidence = {
  times: {
    rule: 'The time is what the rule `timestamp` names.',
    because: "The rules are the user's own; the check shows what they make of the first records.",
  },
  zone: {
    rule: 'Zone and unit are `zone` and `format` of the rule; without them numbers go by their size and texts without a zone are UTC. Dates of a spreadsheet are refused unless the rule says so.',
    because: "The rules are the user's own; the check shows what they make of the first records.",
  },
  ids: {
    rule: 'The uuid is what the rule `uuid` names, else it follows from the content.',
    because: "The rules are the user's own; the check shows what they make of the first records.",
  },
  links: {
    rule: 'The person is what `distinct_id` names, the device `anonymous_id`.',
    because: "The rules are the user's own; the check shows what they make of the first records.",
  },
  counts: {
    rule: 'What the rule `skip` names is skipped and counted by its reason.',
    because: "The rules are the user's own; the check shows what they make of the first records.",
  },
};
