import { useMemo } from 'react';
import type { SettingValues } from '../../components/schema-values.ts';
import { ChoiceEditor } from './choice-editor.tsx';
import { choiceWords, readChoice } from './choice-fields.ts';
import { TransformSelect } from './transform-select.tsx';
import type { Preview } from './wizard-query.ts';

interface ChosenPartProps {
  readonly projectId: number;
  readonly settings: SettingValues;
  readonly preview: Preview | undefined;
  readonly onChange: (change: SettingValues) => void;
}

/** Less than everything, and made into something else; closed it says in a few words what is chosen. */
export function ChosenPart({ projectId, settings, preview, onChange }: ChosenPartProps) {
  const known = useMemo(() => knownNames(preview), [preview]);
  const transform = String(settings['transform'] ?? '');
  const words = [
    ...choiceWords(readChoice(settings['choose']) ?? {}),
    ...(transform === '' ? [] : [`through transformation ${transform}`]),
  ];
  return (
    <details className="rounded-lg border border-line bg-surface">
      <summary className="cursor-pointer px-4 py-2.5 text-sm font-semibold">
        What is taken, and what is changed on the way{' '}
        <span className="font-normal text-soft">{words.length === 0 ? 'all, as it is' : words.join(' · ')}</span>
      </summary>
      <div className="flex flex-col gap-4 border-t border-line p-4">
        <ChoiceEditor setting={settings['choose']} known={known} onChange={(choose) => onChange({ choose })} />
        <TransformSelect projectId={projectId} value={transform} onChange={(next) => onChange({ transform: next })} />
      </div>
    </details>
  );
}

const namesMax = 500;

function knownNames(preview: Preview | undefined) {
  const events = new Set<string>();
  const properties = new Set<string>();
  for (const { event } of preview?.results.flatMap((record) => record.events) ?? []) {
    if (event === null) continue;
    events.add(event.event);
    for (const name of Object.keys(event.properties)) if (properties.size < namesMax) properties.add(name);
  }
  return { events: [...events], properties: [...properties] };
}
