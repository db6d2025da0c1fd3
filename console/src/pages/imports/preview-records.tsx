import { EmptyState } from '../../components/empty-state.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { UserText } from '../../components/user-text.tsx';
import type { Preview } from './wizard-query.ts';

const tones = { events: 'ok', skipped: 'neutral', rejected: 'danger' } as const;

/** Records of the source, each beside the events that it becomes. */
export function PreviewRecords({ preview }: { readonly preview: Preview }) {
  if (preview.results.length === 0)
    return <EmptyState title="The source has no records">Look at the connection: nothing was found there.</EmptyState>;
  const files = [...new Set(preview.results.map(({ part }) => part))];
  return (
    <div className="flex flex-col gap-3">
      <Notice tone={preview.rejected > 0 ? 'warn' : preview.events > 0 ? 'ok' : 'info'}>
        <Shown preview={preview} files={files} />: <NumberText value={preview.events} /> events,{' '}
        <NumberText value={preview.skipped} /> skipped, <NumberText value={preview.rejected} /> rejected.
        {preview.better_format !== null && ` The format ${preview.better_format} reads them.`}
      </Notice>
      <ol className="flex flex-col gap-3">
        {preview.results.map((record, index) => (
          <li key={index} className="rounded-lg border border-line bg-surface p-3">
            <p className="flex flex-wrap items-center gap-2 pb-2 text-sm">
              Record {index + 1} <StatusBadge tone={tones[record.outcome]}>{record.outcome}</StatusBadge>
              {files.length > 1 && (
                <span className="text-soft">
                  <UserText text={record.part} charsMax={100} short />
                </span>
              )}
              {record.reason !== null && <UserText text={record.reason} />}
              {record.left_out.some((why) => why !== record.reason) && (
                <span className="text-soft">left out: {record.left_out.join(', ')}</span>
              )}
            </p>
            <div className="grid gap-3 lg:grid-cols-2">
              <JsonView label={`Record ${index + 1}`} value={record.record ?? record.original} openDepth={1} />
              <div className="flex min-w-0 flex-col gap-2">
                {record.events.map(({ event, refused }, at) => (
                  <div key={at} className="flex flex-col gap-1">
                    {refused !== null && (
                      <p className="text-sm text-danger">
                        <UserText text={refused.reason} />
                      </p>
                    )}
                    {event === null ? (
                      <p className="text-sm text-soft">The transform drops it.</p>
                    ) : (
                      <JsonView label={`Event ${at + 1} of record ${index + 1}`} value={event} openDepth={1} />
                    )}
                  </div>
                ))}
              </div>
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}

interface ShownProps {
  readonly preview: Preview;
  /** That the records come from. */
  readonly files: readonly string[];
}

/** Which of the source is looked at: a mapping that fits one file may not fit another. */
function Shown({ preview: { results, part, parts }, files }: ShownProps) {
  if (files.length > 1) {
    return (
      <>
        The first records of <NumberText value={files.length} /> of <NumberText value={parts} /> files, first to last
      </>
    );
  }
  return (
    <>
      The first <NumberText value={results.length} /> records of <UserText text={part} charsMax={100} short />
      {parts > 1 && (
        <>
          , one of <NumberText value={parts} />
        </>
      )}
    </>
  );
}
