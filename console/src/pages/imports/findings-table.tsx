import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import type { CheckFinding } from '../../../../src/wire/contract/import-results.ts';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { BareSelect } from '../../components/select.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole } from '../../shell/project-context.tsx';
import { ChangeRulesLink } from './check-problems.tsx';
import { findingLabel, ruleLabel, type Rules } from './finding-words.ts';
import { applyRules, configPath, type Run, runPath, type RunIds, runQuery } from './imports-query.ts';
import { type CheckResult, findingsOf } from './run-results.ts';

interface FindingsTableProps {
  readonly ids: RunIds;
  readonly check: CheckResult;
  readonly run: Run;
  /** Receives whether rules are selected that are not applied yet. */
  readonly onPending?: ((isPending: boolean) => void) | undefined;
}

/** What to review before loading, each finding once. Rules are chosen in place; applying them checks the staged records again. */
export function FindingsTable({ ids, check, run, onPending }: FindingsTableProps) {
  const findings = useMemo(() => findingsOf(check), [check]);
  const [changed, setChanged] = useState<Rules>({});
  const canChange = useHasRole('editor') && canRecheck(run);
  const apply = useApplyRules(ids, changed, () => setChanged({}));
  const columns = useMemo(
    () =>
      columnsOf(changed, canChange, (code, rule, isStored) =>
        setChanged((before) => withRule(before, code, isStored ? undefined : rule)),
      ),
    [changed, canChange],
  );
  const count = Object.keys(changed).length;
  useEffect(() => onPending?.(count > 0), [onPending, count]);
  if (findings.length === 0) return null;
  return (
    <Section
      title="To review"
      description={
        canChange ? 'Choose other rules here: the check repeats without reading the source again.' : undefined
      }
      actions={
        canChange ? (
          <Button
            kind={count === 0 ? 'plain' : 'primary'}
            disabled={count === 0}
            busy={apply.isPending}
            onClick={() => apply.mutate()}
          >
            Apply and check again
          </Button>
        ) : (
          run.command === null && run.totals.loaded === 0 && <ChangeRulesLink {...ids} />
        )
      }
      flush
    >
      {apply.error !== null && (
        <div className="p-4">
          <ErrorNote error={apply.error} />
        </div>
      )}
      <DataTable
        label="Findings of the check"
        columns={columns}
        rows={findings}
        rowId={({ code, detail }) => `${code} ${detail}`}
        maxHeight="64rem"
        empty={<EmptyState title="Nothing to review" />}
      />
    </Section>
  );
}

function withRule(rules: Rules, code: string, rule: string | undefined): Rules {
  const others = Object.entries(rules).filter(([key]) => key !== code);
  return Object.fromEntries(rule === undefined ? others : [...others, [code, rule]]);
}

/** Whether the run has its records and has loaded none of them. */
function canRecheck({ state, stage, totals, command, options }: Run): boolean {
  if (command !== null || stage === 'undo' || totals.loaded > 0) return false;
  return state === 'failed' || state === 'paused' || (state === 'completed' && options.last === 'check');
}

/** Stores the rules in the import, so that later runs use them too, and repeats the check of this run. */
function useApplyRules(ids: RunIds, rules: Rules, onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => applyRules(ids, rules),
    onSuccess: async (run) => {
      onDone();
      client.setQueryData(runQuery(ids).queryKey, run);
      client.removeQueries({ queryKey: [`${runPath(ids)}/check`] });
      await refresh(client, `${configPath(ids.projectId, ids.configId)}/settings`);
    },
  });
}

function columnsOf(
  changed: Rules,
  canChange: boolean,
  onRule: (code: string, rule: string, isStored: boolean) => void,
): readonly Column<CheckFinding>[] {
  return [
    {
      id: 'what',
      header: 'Finding',
      width: '17rem',
      cell: (finding) => <span className="font-medium">{findingLabel(finding.code)}</span>,
    },
    {
      id: 'count',
      header: 'Count',
      width: '5.5rem',
      align: 'end',
      cell: ({ count }) => (count === null ? '–' : <NumberText value={count} />),
    },
    { id: 'example', header: 'Examples', width: '17rem', cell: ({ samples }) => <Samples samples={samples} /> },
    {
      id: 'rule',
      header: 'What happens',
      cell: (finding) => <Outcome finding={finding} changed={changed} canChange={canChange} onRule={onRule} />,
    },
  ];
}

const samplesShown = 2;

function Samples({ samples }: Pick<CheckFinding, 'samples'>) {
  if (samples.length === 0) return '–';
  return (
    <ul className="text-xs">
      {samples.slice(0, samplesShown).map((sample) => (
        <li key={sample} className="truncate">
          <code>
            <UserText text={JSON.stringify(sample)} charsMax={60} short />
          </code>
        </li>
      ))}
      {samples.length > samplesShown && <li className="text-soft">and others</li>}
    </ul>
  );
}

interface OutcomeProps {
  readonly finding: CheckFinding;
  readonly changed: Rules;
  readonly canChange: boolean;
  readonly onRule: (code: string, rule: string, isStored: boolean) => void;
}

function Outcome({ finding, changed, canChange, onRule }: OutcomeProps) {
  const { code, rule, rules = [], detail } = finding;
  if (rule === undefined) return <UserText text={detail} charsMax={600} />;
  if (!canChange) return ruleLabel(code, rule);
  return (
    <BareSelect
      aria-label={`Rule for: ${findingLabel(code)}`}
      value={changed[code] ?? rule}
      choices={rules.map((value) => ({ value, label: ruleLabel(code, value) }))}
      onChange={(value) => onRule(code, value, value === rule)}
    />
  );
}
