import type { ReactNode } from 'react';
import { skippedReasons } from '../../../../src/wire/contract/skipped-reasons.ts';
import { Facts } from '../../components/facts.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import type { Run } from './imports-query.ts';

/** What has come of the records so far. */
export function RunTotals({ run }: { readonly run: Run }) {
  const { totals, options } = run;
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Section title="Totals">
        <Facts
          facts={[
            ['Records', <NumberText key="n" value={totals.records} />],
            [
              'Skipped',
              <Counts key="n" counts={Object.fromEntries(skippedReasons(totals.skipped, totals.left_out))} />,
            ],
            ['Rejected', <NumberText key="n" value={totals.rejected} />],
            ['Events', <NumberText key="n" value={totals.events} />],
            ['Skipped by choice', <Counts key="n" counts={totals.left_out} />],
            ['Duplicates', <NumberText key="n" value={totals.duplicates} />],
            ...outcomeOf(run),
          ]}
        />
      </Section>
      <Section title="Settings of this run">
        <Facts
          facts={[
            ['Source', run.source],
            ['Format', options.format],
            ['Range', <Range key="range" options={options} />],
            ['Records', options.limit === null ? 'all' : `a trial of ${options.limit.toLocaleString('en')}`],
            ['Target', options.target.url === null ? 'this project' : <UserText key="t" text={options.target.url} />],
            ...(options.target.kind === 'project'
              ? []
              : [['Undo', 'not from here: only the other service can take the events back'] as const]),
            ['Speed', options.events_per_second === 0 ? 'as fast as it goes' : `${options.events_per_second} events/s`],
            ['May be rejected', `${(options.rejected_max * 100).toLocaleString('en')} %`],
            ['Transform', options.transform === null ? 'none' : <UserText key="x" text={options.transform.name} />],
            ['Started', <TimeText key="made" time={run.started_at} />],
            ['Finished', <TimeText key="over" time={run.finished_at} />],
          ]}
        />
      </Section>
    </div>
  );
}

/** After an undo nothing of it is loaded any more. */
function outcomeOf({ state, totals, stages }: Run): (readonly [string, ReactNode])[] {
  if (state === 'undone') {
    return [
      ['Loaded', <NumberText key="n" value={0} />],
      ['Undone', <NumberText key="n" value={stages.find(({ stage }) => stage === 'undo')?.done} />],
    ];
  }
  return [
    ['Loaded', <NumberText key="n" value={totals.loaded} />],
    ['Found in the store', <NumberText key="n" value={totals.verified} />],
  ];
}

function Counts({ counts }: { readonly counts: Readonly<Record<string, number>> }) {
  const entries = Object.entries(counts);
  const sum = entries.reduce((all, [, count]) => all + count, 0);
  return (
    <>
      <NumberText value={sum} />
      <ul className="text-soft">
        {entries.map(([reason, count]) => (
          <li key={reason}>
            <NumberText value={count} /> <UserText text={reason} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Range({ options: { from, to } }: { readonly options: Run['options'] }) {
  if (from === null && to === null) return 'all times';
  return (
    <>
      <TimeText time={from} /> to <TimeText time={to} />
    </>
  );
}
