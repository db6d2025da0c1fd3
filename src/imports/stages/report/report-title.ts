import { basename } from 'node:path';
import type { ReportResult } from './report.ts';

type Titled = Pick<ReportResult, 'run' | 'options' | 'parts'>;

/** Returns source and target: `export.jsonl.gz (mixpanel) into https://eu.example.com`. */
export function reportTitle(report: Titled): string {
  return `${sourceName(report)} (${report.options.format}) into ${targetName(report)}`;
}

export function targetName({ run, options: { target } }: Pick<Titled, 'run' | 'options'>): string {
  return target.kind === 'project' ? `project ${run.project_id} of this service` : (target.url ?? '');
}

/** Returns the file, or the first of several; for days and ranges of other sources preceded by the name of the source. */
function sourceName({ run, parts }: Titled): string {
  const [first] = parts.list;
  if (first === undefined) return run.source;
  const name = run.source === 'files' ? basename(first.key) : `${run.source}, ${first.key}`;
  const others = parts.list.length + parts.more - 1;
  return others === 0 ? name : `${name} and ${others} more`;
}
