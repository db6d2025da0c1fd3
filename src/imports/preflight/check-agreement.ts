import { fine, problem, warning, type Finding, type PreflightCheck } from './findings.ts';
import type { AgreementFacts, PreflightContext } from './preflight-context.ts';
import type { SourceSample } from './sample-source.ts';

/** Whether the project may send as much history, and as fast, as is asked for. */
export const checkAgreement: PreflightCheck = {
  name: 'agreement',
  look: async (context) => {
    const { deps, options } = context;
    if (options.last === 'check') return [];
    const facts = await deps.agreement?.();
    if (facts === undefined) return [];
    const approved = facts.approvedEventsPerSecond;
    if (approved !== undefined) return [speedFinding(context, approved)];
    const events = eventsIn(await context.estimate());
    return [withoutAgreement(context, facts, events)];
  },
  late: () => warning('agreement_missing', 'whether an agreement is approved could not be found out', null),
};

function speedFinding({ options, words }: PreflightContext, approved: number): Finding {
  if (options.eventsPerSecond <= approved) return fine(`an agreement over ${approved} events per second is approved`);
  const message = `${words.speed} asks for ${options.eventsPerSecond} events per second, and ${approved} are agreed`;
  return warning('agreement_slower', message, `it loads at ${approved}; file another agreement for more`);
}

const howToFile = 'file an agreement with POST /api/projects/:project_id/historical_migrations/ and have it approved';

/** What follows for `events` (undefined: nobody knows how many) as long as no agreement is approved. */
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
        `${has}${source}; one is filed and not approved yet`,
        'have it approved: the run waits for it',
      );
    return problem('agreement_missing', `${has}${source}`, howToFile);
  }
  const speed = `without an agreement at most ${count(freeEventsPerSecond * 60)} events a minute are taken`;
  const isTooFast = options.eventsPerSecond > freeEventsPerSecond;
  if (isFiled)
    return warning('agreement_filed', `an agreement is filed and not approved yet; ${speed}`, 'have it approved');
  if (isTooFast) {
    const asks = `${words.speed} asks for ${count(options.eventsPerSecond)} events per second, and ${speed}`;
    return problem('agreement_missing', asks, `${howToFile}, or leave ${words.speed} out`);
  }
  return warning('agreement_missing', speed, howToFile);
}

/** By the size of the first records; undefined: nobody can tell. */
function eventsIn(sample: SourceSample | undefined): number | undefined {
  if (sample?.bytesTotal === undefined || sample.bytes === 0) return undefined;
  return Math.round((sample.bytesTotal / sample.bytes) * sample.events);
}

function count(value: number): string {
  return Math.max(0, Math.round(value)).toLocaleString('en-GB');
}
