import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Download } from 'lucide-react';
import { buttonStyle } from '../../components/button.tsx';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { runPath, type Run, type RunIds } from './imports-query.ts';
import { percentOf } from './choice-fields.ts';
import type { SameRecords } from '../../../../src/wire/contract/import-results.ts';
import type { CheckResult } from './run-results.ts';

type Problem = NonNullable<Run['check_problems']>[number];

interface CheckProblemsProps {
  readonly run: Run;
  /** The result of the check, for its figures. */
  readonly check?: CheckResult;
}

/** Explains why a checked run cannot be loaded and what to do. */
export function CheckProblems({ run, check }: CheckProblemsProps) {
  return (run.check_problems ?? []).map((problem) => (
    <Notice key={problem} tone="danger">
      {sentences[problem](run, check)}
    </Notice>
  ));
}

const sentences: Readonly<Record<Problem, (run: Run, check: CheckResult | undefined) => ReactNode>> = {
  no_events: ({ totals }) => (
    <>
      The check found no events in <NumberText value={totals.records} /> records. Change the range, the format or the
      rules.
    </>
  ),
  too_many_rejected: ({ totals, options }) => (
    <>
      <NumberText value={totals.rejected} /> of <NumberText value={totals.records} /> records are rejected; this run
      allows {percentOf(options.rejected_max)} %. Skip them, or change the rules so that they can be read.
    </>
  ),
  unclear_replace: () => <>It is unclear which earlier run to replace. Undo that run, then import again.</>,
  stored_before: (_, check) => (
    <>
      <StoredBefore earlier={check?.same_records?.find(({ again }) => again > 0)} /> Undo that run first, or load these
      events in addition.
    </>
  ),
};

function StoredBefore({ earlier }: { readonly earlier: SameRecords | undefined }) {
  if (earlier === undefined) return 'An earlier run stored different events for the same records.';
  const { created_at: time, records, loaded, again } = earlier;
  return (
    <>
      The run of <TimeText time={time} /> loaded <NumberText value={loaded} /> events from{' '}
      <NumberText value={records} /> of these records, with other settings or rules; <NumberText value={again} /> of the
      events to load differ and would be stored next to them.
    </>
  );
}

interface RejectedLinkProps {
  readonly ids: RunIds;
  readonly rejected: number;
}

/** Downloads every rejected record, byte for byte, with its reason. */
export function RejectedLink({ ids, rejected }: RejectedLinkProps) {
  if (rejected === 0) return null;
  return (
    <a href={`${runPath(ids)}/rejected`} download={`rejected-${ids.runId}.ndjson`} className={buttonStyle('plain')}>
      <Download aria-hidden="true" className="size-4" /> Download rejected records
    </a>
  );
}

/** Opens the mapping of the import, where format, names, ranges and rules are set. */
export function ChangeRulesLink({ projectId, configId }: Pick<RunIds, 'projectId' | 'configId'>) {
  return (
    <Link
      to="/projects/$projectId/imports/new"
      params={{ projectId: String(projectId) }}
      search={{ step: 'map', config: configId }}
      className={buttonStyle('plain')}
    >
      Change rules
    </Link>
  );
}
