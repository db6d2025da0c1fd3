import { fine, problem, warning, type PreflightCheck } from './findings.ts';

/** Checks whether the target knows the key of the project that gets the events. */
export const checkProjectKey: PreflightCheck = {
  name: 'project_key',
  run: async (context) => {
    const { words, options } = context;
    if (options.target.kind !== 'http' || options.last === 'check') return [];
    if ((await context.target()) === undefined) {
      return [
        problem(
          'project_key_missing',
          'expected a project key to load with, got none',
          `set ${words.projectKey}: ${words.projectKeyPlace}`,
        ),
      ];
    }
    const [facts, endpoint] = await Promise.all([context.projectKey(), context.endpoint()]);
    if (facts === undefined || endpoint?.kind !== 'takes_batches') return [];
    switch (facts.kind) {
      case 'known':
        return [fine('the target knows the project key')];
      case 'unknown':
        return [
          problem(
            'project_key_unknown',
            `the target does not know the project key${facts.detail === undefined ? '' : ` (${facts.detail})`}`,
            `correct ${words.projectKey}: ${words.projectKeyPlace}`,
          ),
        ];
      case 'unclear':
        // A target that finds the project by its key knows the key.
        if ((await context.reader())?.kind === 'reads') return [fine('the target knows the project key')];
        return [
          warning(
            'project_key_unclear',
            'the target does not reveal beforehand whether it knows the project key',
            null,
          ),
        ];
    }
  },
  late: ({ words }, seconds) =>
    warning('project_key_unclear', `the target did not confirm ${words.projectKey} within ${seconds} s`, null),
};
