import { JsonDiff } from '../../components/json-diff.tsx';
import { Notice } from '../../components/notice.tsx';
import { UserText } from '../../components/user-text.tsx';
import type { DryRunOneResult } from './dead-letters-query.ts';

const tones = { stored: 'ok', dropped: 'warn', refused: 'danger' } as const;
const sentences = {
  stored: 'It would be stored.',
  dropped: 'A transformation would drop it.',
  refused: 'It would still be refused.',
} as const;

/** What would become of one dead letter. */
export function DryRunOutcome({ result }: { readonly result: DryRunOneResult }) {
  const { outcome, detail, chain } = result;
  return (
    <div role="status" className="flex flex-col gap-3">
      <Notice tone={tones[outcome]}>
        {sentences[outcome]} {detail !== null && <UserText text={detail} />}
      </Notice>
      {chain !== null && chain.steps.length > 0 && (
        <JsonDiff
          before={chain.before}
          after={chain.after}
          beforeLabel="As sent"
          afterLabel="After the transformations"
        />
      )}
    </div>
  );
}
