import { useQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { buttonStyle } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Section } from '../../components/section.tsx';
import { UserText } from '../../components/user-text.tsx';
import { runPath, type RunIds } from './imports-query.ts';
import { readRejected, type Rejected } from './run-results.ts';

const shownMax = 100;

/** Rejected records, unchanged from the source. */
export function RejectedRecords({ ids, count }: { readonly ids: RunIds; readonly count: number }) {
  const path = `${runPath(ids)}/rejected`;
  const rejected = useQuery({
    queryKey: [path, count],
    queryFn: ({ signal }) => readRejected(path, shownMax, signal),
  });
  if (rejected.data === undefined) {
    return rejected.error === null ? (
      <Loading label="Loading rejected records" />
    ) : (
      <ErrorState error={rejected.error} onRetry={() => void rejected.refetch()} />
    );
  }
  const { records, more } = rejected.data;
  if (records.length === 0) {
    return (
      <EmptyState title="No rejected records">
        Records that cannot be converted to events appear here, byte for byte.
      </EmptyState>
    );
  }
  return (
    <Section
      title="Rejected records"
      description={more ? `First ${shownMax}. Download the file for all of them.` : `${records.length} in total`}
      actions={
        <a href={path} download={`rejected-${ids.runId}.ndjson`} className={buttonStyle('plain', 'small')}>
          <Download aria-hidden="true" className="size-3.5" /> Download NDJSON
        </a>
      }
    >
      <ul className="flex flex-col gap-4">
        {records.map((record, index) => (
          <li key={index} className="flex flex-col gap-1 text-sm">
            <p>
              <span className="font-medium">
                <UserText text={record.reason} />
              </span>{' '}
              <span className="text-soft">
                {record.stage}, <UserText text={placeOf(record)} charsMax={200} short />
              </span>
            </p>
            <CodeBlock code={originalOf(record.original)} label="Copy record" />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function placeOf({ part, line, place }: Rejected): string {
  return line === undefined ? `${part} ${place ?? ''}` : `${part}, line ${line.toLocaleString('en')}`;
}

const originalMax = 20_000;

function originalOf(original: unknown): string {
  const text = typeof original === 'string' ? original : JSON.stringify(original);
  return text.length > originalMax ? `${text.slice(0, originalMax)}…` : text;
}
