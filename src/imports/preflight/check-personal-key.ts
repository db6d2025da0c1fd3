import { fine, problem, warning, type Finding, type PreflightCheck } from './findings.ts';
import type { PreflightContext } from './preflight-context.ts';
import type { ReaderFacts } from '../target.ts';

/** What reading back needs. */
const scopes = ['query:read', 'project:read'];

/** Whether what is loaded can be read back and compared. */
export const checkPersonalKey: PreflightCheck = {
  name: 'personal_key',
  look: async (context) => {
    const { options } = context;
    if (options.target.kind !== 'http' || options.last === 'check') return [];
    const [facts, endpoint, projectKey] = await Promise.all([
      context.reader(),
      context.endpoint(),
      context.projectKey(),
    ]);
    // What stands in the way of everything is said once, by its own check.
    if (facts === undefined || endpoint?.kind !== 'takes_batches') return [];
    if (facts.kind === 'key_project' && projectKey?.kind === 'unknown') return [];
    return [judge(context, facts)];
  },
  late: (_context, seconds) =>
    warning('target_unreadable', `the target did not say within ${seconds} s whether it lets us read back`, null),
};

function judge({ words }: PreflightContext, { kind, detail }: ReaderFacts): Finding {
  const said = detail === undefined ? '' : ` (${detail})`;
  switch (kind) {
    case 'reads':
      return fine('what is stored can be read back and compared');
    case 'no_key':
      return warning(
        'personal_key_missing',
        'without a personal API key nothing that is stored can be compared with what was sent',
        `give ${words.personalKey}: ${words.newPersonalKey(scopes)}`,
      );
    case 'key_refused':
      return problem(
        'personal_key_refused',
        `the target does not take the personal API key${said}`,
        `give a valid one as ${words.personalKey}: ${words.newPersonalKey(scopes)}`,
      );
    case 'key_scope':
      return problem(
        'personal_key_scope',
        `the personal API key may not read what is stored${said}`,
        `give one with the scopes ${scopes.join(' and ')} as ${words.personalKey}: ${words.newPersonalKey(scopes)}`,
      );
    case 'key_project':
      return problem(
        'personal_key_project',
        'the personal API key does not see the project that the project key belongs to',
        `give ${words.projectKey} and ${words.personalKey} of the same project`,
      );
    case 'no_reader':
      return warning(
        'target_unreadable',
        'the target has no way to read imported events back, so that nothing is compared at the end',
        'compare the counts per day of the report with what the target shows',
      );
    case 'unclear':
      return warning('target_unreadable', `whether events can be read back could not be found out${said}`, null);
  }
}
