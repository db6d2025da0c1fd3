import { Facts } from '../../components/facts.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import type { Rules } from './agreements-query.ts';

const modes: Readonly<Record<Rules['mode'], string>> = {
  optional: 'History needs no agreement here.',
  required: 'History beyond a small amount needs an agreement that was approved.',
};

/** What bounds the history of this project now. */
export function RulesSection({ rules }: { readonly rules: Rules }) {
  const { mode, events_per_second: speed } = rules;
  return (
    <Section title="In force" description={modes[mode]}>
      <Facts
        facts={[
          ['Historical events stored', <NumberText key="stored" value={rules.historical_events} />],
          ['Free without an agreement', <NumberText key="free" value={rules.free_events_in_all} />],
          [
            'Highest speed now',
            speed === null ? (
              'as fast as the service takes them'
            ) : (
              <NumberText key="speed" value={speed} unit="per_second" />
            ),
          ],
          ['Waiting for a decision', <NumberText key="filed" value={rules.filed} />],
        ]}
      />
    </Section>
  );
}
