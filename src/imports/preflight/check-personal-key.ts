import { fine, problem, warning, type Finding, type PreflightCheck } from './findings.ts';
import type { PreflightContext } from './preflight-context.ts';
import type { ReaderFacts } from '../target.ts';

/** Scopes that reading back requires. */
const scopes = ['query:read', 'project:read'];

/** Checks whether loaded events can be read back and compared. */
export const checkPersonalKey: PreflightCheck = {
  name: 'personal_key',
  run: async (context) => {
    const { options } = context;
    if (options.target.kind !== 'http' || options.last === 'check') return [];
    const [facts, endpoint, projectKey] = await Promise.all([
      context.reader(),
      context.endpoint(),
      context.projectKey(),
    ]);
    // A fault that affects several checks is reported once, by its own check.
    if (facts === undefined || endpoint?.kind !== 'takes_batches') return [];
    if (facts.kind === 'key_project' && projectKey?.kind === 'unknown') return [];
    return [findingFor(context, facts)];
  },
  late: (_context, seconds) =>
    warning('target_unreadable', `the target did not confirm within ${seconds} s that events can be read back`, null),
};

function findingFor({ words }: PreflightContext, { kind, detail }: ReaderFacts): Finding {
  const explanation = detail === undefined ? '' : ` (${detail})`;
  switch (kind) {
    case 'reads':
      return fine('stored events can be read back and compared');
    case 'no_key':
      return warning(
        'personal_key_missing',
        'without a personal API key stored events cannot be compared with what was sent',
        `set ${words.personalKey}: ${words.newPersonalKey(scopes)}`,
      );
    case 'key_refused':
      return problem(
        'personal_key_refused',
        `the target refuses the personal API key${explanation}`,
        `correct ${words.personalKey}: ${words.newPersonalKey(scopes)}`,
      );
    case 'key_scope':
      return problem(
        'personal_key_scope',
        `the personal API key cannot read stored events${explanation}`,
        `set ${words.personalKey} to a key with the scopes ${scopes.join(' and ')}: ${words.newPersonalKey(scopes)}`,
      );
    case 'key_project':
      return problem(
        'personal_key_project',
        'the personal API key cannot access the project that the project key belongs to',
        `use ${words.projectKey} and ${words.personalKey} of the same project`,
      );
    case 'no_reader':
      return warning(
        'target_unreadable',
        'the target has no endpoint to read imported events, so nothing is compared at the end',
        'compare the counts per day of the report with what the target shows',
      );
    case 'unclear':
      return warning('target_unreadable', `whether events can be read back is unclear${explanation}`, null);
  }
}
