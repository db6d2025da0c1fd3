import { fine, problem, warning, type Finding, type PreflightCheck } from './findings.ts';
import type { AgreementFacts, PreflightContext } from './preflight-context.ts';
import type { SourceSample } from './sample-source.ts';

/** Checks whether the project may send this much history at the requested speed. */
export const checkAgreement: PreflightCheck = {
  name: 'agreement',
  run: async (context) => {
    const { deps, options } = context;
    if (options.last === 'check') return [];
    const facts = await deps.agreement?.();
    if (facts === undefined) return [];
    const approved = facts.approvedEventsPerSecond;
    if (approved !== undefined) return [speedFinding(context, approved)];
    const events = eventsIn(await context.estimate());
    return [withoutAgreement(context, facts, events)];
  },
  late: () => warning('agreement_missing', 'the service did not report in time whether an agreement is approved', null),
};

function speedFinding({ options, words }: PreflightContext, approved: number): Finding {
  if (options.eventsPerSecond <= approved) return fine(`an agreement over ${approved} events per second is approved`);
  const message = `${words.speed} requests ${options.eventsPerSecond} events per second, and ${approved} are agreed`;
  return warning('agreement_slower', message, `the run loads at ${approved}; file another agreement for more`);
}

const howToFile = 'file an agreement with POST /api/projects/:project_id/historical_migrations/ and have it approved';

/** Returns the finding for `events` (`undefined` if unknown) while no agreement is approved. */
export function withoutAgreement(
  { options, words }: Pick<PreflightContext, 'options' | 'words'>,
  facts: AgreementFacts,
  events: number | undefined,
): Finding {
  const { isFiled, freeEventsLeft, freeEventsPerSecond } = facts;
  const expected = options.limit === undefined ? events : Math.min(events ?? options.limit, options.limit);
  if (freeEventsLeft <= 0 || (expected !== undefined && expected > freeEventsLeft)) {
    const has = `this import needs an agreement: without one ${count(freeEventsLeft)} more events may be sent`;
    const source = expected === undefined ? '' : `, and the source has about ${count(expected)}`;
    if (isFiled)
      return warning(
        'agreement_filed',
        `${has}${source}; one is filed but not approved yet`,
        'have it approved: the run waits for it',
      );
    return problem('agreement_missing', `${has}${source}`, howToFile);
  }
  const speed = `without an agreement at most ${count(freeEventsPerSecond * 60)} events a minute are accepted`;
  const isTooFast = options.eventsPerSecond > freeEventsPerSecond;
  if (isFiled)
    return warning('agreement_filed', `an agreement is filed but not approved yet; ${speed}`, 'have it approved');
  if (isTooFast) {
    const requested = `${words.speed} requests ${count(options.eventsPerSecond)} events per second, and ${speed}`;
    return problem('agreement_missing', requested, `${howToFile}, or omit ${words.speed}`);
  }
  return warning('agreement_missing', speed, howToFile);
}

/** Estimates the number of events from the size of the first records. */
function eventsIn(sample: SourceSample | undefined): number | undefined {
  if (sample?.bytesTotal === undefined || sample.bytes === 0) return undefined;
  return Math.round((sample.bytesTotal / sample.bytes) * sample.events);
}

function count(value: number): string {
  return Math.max(0, Math.round(value)).toLocaleString('en-GB');
}
